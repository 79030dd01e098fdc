#include "core/analysis/claims/held_means.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <span>

#include "core/base/formatted.h"

namespace normlens::analysis {
namespace {

using graph::Graph;

// Sums, of the numbers and of their magnitudes, over the groups of a pattern, in the order of their kept indices.
struct Groups {
  std::vector<double> sums, magnitudes;
  int64_t size = 0;  // elements in each

  void add(const Groups& other) {
    for (size_t i = 0; i < sums.size(); ++i) {
      sums[i] += other.sums[i];
      magnitudes[i] += other.magnitudes[i];
    }
    size += other.size;
  }
};

// The group of an element; -1: it is outside the region.
int64_t groupOf(const ops::Pattern& pattern, int64_t element) {
  int64_t group = 0, step = 1;
  for (size_t i = pattern.factors.size(); i-- > 0;) {
    const ops::Factor& factor = pattern.factors[i];
    const int64_t at = element % factor.size;
    element /= factor.size;
    if (at < factor.begin || at >= factor.end) return -1;
    if (factor.summed) continue;
    group += step * (at - factor.begin);
    step *= factor.extent();
  }
  return group;
}

std::optional<Groups> groupsOf(const graph::TensorView& view, const ops::Pattern& pattern) {
  const auto numbers = graph::toDoubles(view);
  const int64_t size = pattern.groupSize();
  if (!numbers || size == 0) return std::nullopt;
  const auto count = static_cast<size_t>(pattern.regionSize() / size);
  Groups groups{std::vector<double>(count), std::vector<double>(count), size};
  for (size_t i = 0; i < numbers->size(); ++i) {
    const int64_t group = groupOf(pattern, static_cast<int64_t>(i));
    if (group < 0) continue;
    groups.sums[static_cast<size_t>(group)] += (*numbers)[i];
    groups.magnitudes[static_cast<size_t>(group)] += std::abs((*numbers)[i]);
  }
  return groups;
}

class Judge {
 public:
  Judge(const Graph& graph, const Claims& claims, const std::function<double(graph::DType)>& tolerance)
      : graph_(graph), claims_(claims), tolerance_(tolerance), decides_(claims.all().size(), graph::kNone) {}

  // A claim that does not hold takes with it all that need it; loops hold unless something in them does not.
  Status run(const Task& task) {
    std::vector<std::vector<ClaimId>> readers(claims_.all().size());
    std::vector<ClaimId> open;
    reasons_.resize(claims_.all().size());
    for (size_t i = 0; i < claims_.all().size(); ++i) {
      const auto id = static_cast<ClaimId>(i);
      RETURN_IF_ERROR(task.check());
      for (const Need& need : claims_[id].needs) readers[static_cast<size_t>(need.claim)].push_back(id);
      reasons_[i] = whyNot(claims_[id]);
      if (reasons_[i].empty()) continue;
      decides_[i] = id;
      open.push_back(id);
    }
    while (!open.empty()) {
      const ClaimId failed = open.back();
      open.pop_back();
      for (const ClaimId reader : readers[static_cast<size_t>(failed)]) {
        ClaimId& decides = decides_[static_cast<size_t>(reader)];
        if (decides != graph::kNone) continue;
        decides = decides_[static_cast<size_t>(failed)];
        open.push_back(reader);
      }
    }
    return {};
  }

  [[nodiscard]] HeldMean of(ClaimId root) const {
    if (root == graph::kNone)
      return {false, "its axes, or the sizes that it is taken over, are known at run time only", {}};
    const ClaimId decides = decides_[static_cast<size_t>(root)];
    if (decides != graph::kNone) return {false, reasons_[static_cast<size_t>(decides)], {}};
    HeldMean held{true, {}, {}};
    std::vector<ClaimId> open{root};
    std::set<ClaimId> seen{root};
    std::set<graph::ConstantId> centered;
    while (!open.empty()) {
      const Claim& claim = claims_[open.back()];
      open.pop_back();
      if (isOfWeight(claim)) centered.insert(graph_.value(claim.value).constant);
      for (const Need& need : claim.needs) {
        if (seen.insert(need.claim).second) open.push_back(need.claim);
      }
    }
    held.centered.assign(centered.begin(), centered.end());
    return held;
  }

 private:
  static bool isOfWeight(const Claim& claim) {
    return claim.kind == Claim::Kind::Constant || claim.kind == Claim::Kind::Joint;
  }

  // "": it holds if what it needs does.
  [[nodiscard]] std::string whyNot(const Claim& claim) const {
    if (claim.kind == Claim::Kind::Refused) return claim.reason.empty() ? "nothing promises it" : claim.reason;
    if (!isOfWeight(claim)) return {};
    const auto& constant = graph_.constant(graph_.value(claim.value).constant);
    const ops::Demand own{claim.value, claim.pattern};
    const auto parts = claim.joint().empty() ? std::span(&own, 1) : claim.joint();
    std::optional<Groups> all;
    for (const ops::Demand& part : parts) {
      const auto groups = groupsOf(graph_.constant(graph_.value(part.value).constant).view, part.pattern);
      if (!groups || (all && groups->sums.size() != all->sums.size())) return constant.name + " cannot be read";
      all ? all->add(*groups) : static_cast<void>(all = groups);
    }
    double worst = 0;
    for (size_t i = 0; i < all->sums.size(); ++i) {
      const double mean = std::abs(all->sums[i]), most = tolerance_(constant.view.dtype) * all->magnitudes[i];
      if (!std::isfinite(mean)) return constant.name + " holds numbers that are not finite";
      if (mean > most) worst = std::max(worst, mean / static_cast<double>(all->size));
    }
    return worst == 0 ? "" : constant.name + formatted(" has means of up to %.3g", worst);
  }

  const Graph& graph_;
  const Claims& claims_;
  const std::function<double(graph::DType)>& tolerance_;
  std::vector<ClaimId> decides_;  // by claim; kNone: it holds
  std::vector<std::string> reasons_;
};

}  // namespace

Result<HeldMeans> heldMeans(const Graph& graph, const std::vector<NormParts>& norms,
                            const std::function<double(graph::DType)>& tolerance, const Task& task) {
  std::vector<LayerNorm> asked(norms.size());
  for (size_t i = 0; i < norms.size(); ++i) {
    static_cast<NormParts&>(asked[i]) = norms[i];
    asked[i].asOne = true;  // None of its nodes counts as one that notices a shift: nothing is to be shifted.
    if (!isOverKnownSizes(graph, asked[i])) asked[i].blockedReason = "it is taken over sizes that a run decides";
  }
  FiniteWeights weights;
  HeldMeans held;
  ASSIGN_OR_RETURN(held.claims, Claims::build(graph, asked, weights, task));
  Judge judge(graph, held.claims, tolerance);
  RETURN_IF_ERROR(judge.run(task));
  for (size_t i = 0; i < norms.size(); ++i) held.norms.push_back(judge.of(held.claims.root(static_cast<int>(i))));
  return held;
}

}  // namespace normlens::analysis
