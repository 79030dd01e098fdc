#include "core/analysis/norm_states.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include "core/analysis/explain.h"
#include "core/base/formatted.h"
#include "core/graph/contains.h"
#include "core/graph/queries.h"

namespace normlens::analysis {
namespace {

using fold::CenterConstant;
using fold::InsertCentering;
using graph::ValueId;

using Values = std::vector<ValueId>;

std::string numberWord(size_t count) {
  return count == 1 ? "one" : count == 2 ? "two" : count == 3 ? "three" : std::to_string(count);
}

std::string shapeText(const graph::Value& value) {
  std::string text;
  for (const int64_t size : value.shape.value_or(graph::Shape{}))
    text += (text.empty() ? "" : ",") + std::to_string(size);
  return "[" + text + "]";
}

using Edits = std::vector<const PlannedEdit*>;

Edits servingNorm(const Edits& edits, int norm) {
  Edits out;
  std::ranges::copy_if(edits, std::back_inserter(out),
                       [&](const PlannedEdit* planned) { return planned->frees.contains(norm); });
  return out;
}

// The edits of a plan that a norm may have a reason not to be served by.
struct Costly {
  explicit Costly(const Plan& plan) {
    for (const PlannedEdit& planned : plan.edits) {
      const auto* center = std::get_if<CenterConstant>(&planned.edit);
      if (center != nullptr && center->split) copies.push_back(&planned);
      if (std::holds_alternative<InsertCentering>(planned.edit)) centerings.push_back(&planned);
    }
  }
  Edits copies, centerings;
};

struct Other {
  explicit Other(Plan made) : plan(std::move(made)), costly(plan) {}
  Plan plan;
  Costly costly;
};

class States {
 public:
  States(const Analysis& analysis, const Plan& plan, const PlanOptions* options)
      : analysis_(analysis),
        graph_(analysis.scales.graph()),
        plan_(plan),
        options_(options),
        valueOf_(graph::valuesOfConstants(graph_)) {}

  std::vector<NormState> all() {
    std::vector<NormState> states(analysis_.norms.layerNorms.size());
    for (const int norm : plan_.folded) states[static_cast<size_t>(norm)].kind = NormState::Kind::Folded;
    for (size_t e = 0; e < plan_.edits.size(); ++e) {
      const IndexRanges& frees = plan_.edits[e].frees;
      if (frees.empty() || !std::holds_alternative<InsertCentering>(plan_.edits[e].edit)) continue;
      for (const int norm : frees.indices()) states[static_cast<size_t>(norm)].centerings.push_back(e);
      NormState& first = states[static_cast<size_t>(frees.ranges().front().first)];
      first.counted = true;
      first.kind = NormState::Kind::FoldedWithCentering;
    }
    for (int norm = 0; norm < static_cast<int>(states.size()); ++norm) {
      NormState& state = states[static_cast<size_t>(norm)];
      if (options_ != nullptr && options_->policy != Policy::Paper) state.ways = waysOf(norm, state);
      if (state.kind == NormState::Kind::Kept) state.because = whyKept(norm, state);
      if (state.counted) state.because = whyCentered(norm, state);
    }
    return states;
  }

 private:
  [[nodiscard]] Verdict verdictOf(int norm) const { return analysis_.verdicts[static_cast<size_t>(norm)].verdict; }

  // ---- other plans, made on first use

  [[nodiscard]] PlanOptions like(Policy policy) const {
    PlanOptions other = *options_;
    other.policy = policy;
    other.keepNorms.clear();
    other.moveShifts = other.carryMeans = false;
    return other;
  }
  // Without a centering, whatever the file grows by.
  const Other& freely() {
    if (!freely_) {
      PlanOptions other = like(Policy::Free);
      other.centerValues.clear();
      freely_.emplace(makePlan(analysis_, other));
    }
    return *freely_;
  }
  // Without a copy, whatever the centerings cost.
  const Other& byCentering() {
    if (!byCentering_) {
      PlanOptions other = like(Policy::Balanced);
      constexpr int64_t kWorthAnything = 100'000;
      other.prices = {kWorthAnything, ElementPrices{}.centering};
      other.copyValues.clear();
      other.maxGrowthPercent = 0;
      byCentering_.emplace(makePlan(analysis_, other));
    }
    return *byCentering_;
  }

  // ---- what a norm rests on

  [[nodiscard]] Values copiesFor(const Costly& edits, int norm) const {
    Values out;
    for (const PlannedEdit* planned : servingNorm(edits.copies, norm)) {
      for (const auto& part : std::get<CenterConstant>(planned->edit).parts)
        out.push_back(valueOf_[static_cast<size_t>(part.constant)]);
    }
    return out;
  }
  [[nodiscard]] static int64_t elementsOf(const PlannedEdit& planned) {
    return std::get<InsertCentering>(planned.edit).pattern.regionSize();
  }
  [[nodiscard]] int64_t bytesOf(ValueId constant) const {
    return graph::byteCount(graph_.constant(graph_.value(constant).constant).view);
  }
  [[nodiscard]] double percentOf(int64_t bytes) const { return growthPercent(analysis_, bytes); }

  [[nodiscard]] std::vector<PlanWay> waysOf(int norm, const NormState& state) {
    if (!folds(verdictOf(norm))) return {};
    Values copies = copiesFor(costly_, norm);
    auto centerings = servingNorm(costly_.centerings, norm);
    const bool kept = state.kind == NormState::Kind::Kept;
    const bool copying = !copies.empty();
    if (!kept && copying == !centerings.empty()) return {};  // neither, or each for what the other does not serve
    if (!copying) {
      if (!contains(freely().plan.folded, norm)) return {};
      copies = copiesFor(freely().costly, norm);
    }
    if (centerings.empty()) {
      if (!contains(byCentering().plan.folded, norm)) return {};
      centerings = servingNorm(byCentering().costly.centerings, norm);
    }
    if (copies.empty() || centerings.empty()) return {};
    std::vector<PlanWay> ways;
    for (const ValueId value : copies) ways.push_back({true, value, bytesOf(value), 0, copying});
    for (const auto* planned : centerings) {
      const ValueId value = std::get<InsertCentering>(planned->edit).value;
      ways.push_back({false, value, 0, elementsOf(*planned), !kept && !copying});
    }
    return ways;
  }

  // ---- reasons

  // "a copy of wte.weight would add 131 kB (13%, limit 10%)"; empty: no copies would do.
  [[nodiscard]] std::string copiesInWords(const Values& copies) const {
    if (copies.empty()) return {};
    int64_t bytes = 0;
    std::string names;
    for (const ValueId value : copies) {
      bytes += bytesOf(value);
      names += (names.empty() ? "" : " and ") + describeValue(graph_, value);
    }
    std::string text = (copies.size() == 1 ? "a copy of " : "copies of ") + names + " would add " + bytesText(bytes) +
                       " (" + percentText(percentOf(bytes));
    if (options_->policy == Policy::Balanced) {
      const bool fits = percentOf(bytes) <= options_->maxGrowthPercent;
      if (fits) text += ", " + percentText(percentOf(bytes + plan_.bytesGrown)) + " with the other copies";
      text += ", limit " + percentText(options_->maxGrowthPercent);
    }
    return text + ")";
  }

  [[nodiscard]] std::string keptConstants(int norm) const {
    std::string names;
    for (const PlannedEdit& planned : analysis_.best.edits) {
      const auto* center = std::get_if<CenterConstant>(&planned.edit);
      if (center == nullptr || !planned.frees.contains(norm)) continue;
      for (const auto& part : center->parts) {
        const ValueId value = valueOf_[static_cast<size_t>(part.constant)];
        if (contains(options_->keepValues, value))
          names += (names.empty() ? "" : " and ") + describeValue(graph_, value);
      }
    }
    return names.empty() ? names : "you keep " + names + " as it is";
  }

  [[nodiscard]] std::string whyCentered(int norm, const NormState& state) {
    if (options_ == nullptr) return "the plan says so";
    if (options_->policy == Policy::Paper) return "the papers center behind every opaque leaf";
    for (const size_t e : state.centerings) {
      const ValueId value = std::get<InsertCentering>(plan_.edits[e].edit).value;
      if (contains(options_->centerValues, value)) return "you center " + describeValue(graph_, value);
    }
    if (std::string kept = keptConstants(norm); !kept.empty()) return kept;
    if (verdictOf(norm) == Verdict::Free && contains(freely().plan.folded, norm)) {
      Values missing = copiesFor(freely().costly, norm);
      const Values made = copiesFor(costly_, norm);
      std::erase_if(missing, [&](ValueId value) { return contains(made, value); });
      if (std::string copies = copiesInWords(missing); !copies.empty()) return copies;
    }
    if (std::string blocker = blockerInWords(analysis_, norm); !blocker.empty()) return blocker;
    return "no weight behind it can be centered for it alone";
  }

  [[nodiscard]] std::string whyKept(int norm, const NormState& state) {
    if (options_ == nullptr) return "the plan leaves it";
    if (contains(options_->keepNorms, norm)) return "you keep it";
    if (options_->policy == Policy::Paper) return "the papers' criterion does not hold";
    if (!folds(verdictOf(norm))) return asReason(analysis_.verdicts[static_cast<size_t>(norm)].reason);
    if (std::string kept = keptConstants(norm); !kept.empty()) return kept + withPrice(norm);
    if (options_->policy == Policy::Free) return "the policy allows no centering";
    for (const PlanWay& way : state.ways) {
      if (way.copy) return copiesInWords(copiesFor(freely().costly, norm)) + withPrice(norm);
    }
    if (contains(freely().plan.folded, norm)) {
      if (std::string copies = copiesInWords(copiesFor(freely().costly, norm)); !copies.empty()) return copies;
    }
    const std::string price = priceInWords(norm);
    return price.empty() ? "another edit of the plan takes from it what it rests on" : price;
  }

  [[nodiscard]] std::string withPrice(int norm) {
    const std::string price = priceInWords(norm);
    return price.empty() ? price : ", and " + price;
  }

  // The centerings that are missing for it, against all folds that these would bring; empty: none would bring it.
  // That the plan is the best one shows that they cost at least as much.
  [[nodiscard]] std::string priceInWords(int norm) {
    if (options_->policy != Policy::Balanced || !contains(byCentering().plan.folded, norm)) return {};
    const auto missing = missingFor(norm);
    if (missing.empty()) return {};
    int64_t cost = 0, saved = 0;
    for (const auto* planned : missing) cost += options_->prices.centering * elementsOf(*planned);
    size_t folds = 0;
    for (const int other : byCentering().plan.folded) {
      if (contains(plan_.folded, other) || contains(options_->keepNorms, other)) continue;
      const auto needed = missingFor(other);
      const auto isThere = [&](const auto* planned) { return std::ranges::find(missing, planned) != missing.end(); };
      if (!std::ranges::all_of(needed, isThere)) continue;
      ++folds;
      const auto& shape = graph_.value(analysis_.norms.layerNorms[static_cast<size_t>(other)].input).shape;
      saved += options_->prices.folding * graph::elementCount(shape.value_or(graph::Shape{})).value_or(0);
    }
    const ValueId value = std::get<InsertCentering>(missing.front()->edit).value;
    if (options_->prices.inPicoseconds) {
      constexpr double kPicosecondsPerMicrosecond = 1e6;
      return "a centering does not pay: it costs " +
             formatted("%.2g \xC2\xB5s", static_cast<double>(cost - saved) / kPicosecondsPerMicrosecond) +
             " more than it saves";
    }
    const std::string what =
        missing.size() == 1 ? "a centering of " + shapeText(graph_.value(value)) + " costs"
                            : numberWord(missing.size()) + " centerings of " + shapeText(graph_.value(value)) + " cost";
    return what + " more than " + numberWord(folds) + (folds == 1 ? " fold saves" : " folds save");
  }

  [[nodiscard]] Edits missingFor(int norm) {
    auto missing = servingNorm(byCentering().costly.centerings, norm);
    std::erase_if(missing, [&](const PlannedEdit* planned) {
      return std::ranges::any_of(costly_.centerings,
                                 [&](const PlannedEdit* there) { return there->claim == planned->claim; });
    });
    return missing;
  }

  const Analysis& analysis_;
  const graph::Graph& graph_;
  const Plan& plan_;
  const PlanOptions* options_;
  std::vector<ValueId> valueOf_;  // by constant
  Costly costly_{plan_};
  std::optional<Other> freely_, byCentering_;
};

}  // namespace

std::vector<NormState> normStates(const Analysis& analysis, const Plan& plan, const PlanOptions* options) {
  return States(analysis, plan, options).all();
}

}  // namespace normlens::analysis
