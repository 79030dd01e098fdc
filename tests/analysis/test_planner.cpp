// The planner's minimum cut against brute force over all sets of centerings and copies.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "tests/analysis/analyzed.h"
#include "tests/support/must.h"
#include "tests/support/random_graph.h"

namespace normlens::analysis {
namespace {

using graph::kNone;

// The fixed prices, in thousandths of an element of a norm.
constexpr int64_t kSaved = 1000;
constexpr int64_t kCentering = 1001;
constexpr int64_t kCopy = 1;
constexpr int64_t kDrop = 1;

int64_t elements(const graph::Graph& graph, graph::ValueId value) {
  return *graph::elementCount(*graph.value(value).shape);
}

int64_t bytesOf(const graph::Graph& graph, graph::ConstantId id) {
  const auto& view = graph.constant(id).view;
  return *graph::elementCount(view.shape) * static_cast<int64_t>(graph::dtypeBytes(view.dtype));
}

// Places where a set of edits can be tried one by one.
class BruteForce {
 public:
  explicit BruteForce(const Analysis& analysis) : analysis_(analysis), claims_(analysis.claims) {
    for (ClaimId id = 0; id < static_cast<ClaimId>(claims_.all().size()); ++id) {
      if (canCut(claims_[id])) candidates_.push_back(id);
    }
  }

  [[nodiscard]] size_t candidates() const { return candidates_.size(); }

  struct Best {
    int64_t value = 0;
    int64_t bytes = 0;
  };
  [[nodiscard]] Best best(bool centerings, int64_t byteBudget) const {
    Best best;
    for (uint32_t set = 0; set < (uint32_t{1} << candidates_.size()); ++set) {
      const auto [value, bytes, centers] = valueOf(set);
      if (bytes > byteBudget || (centers && !centerings)) continue;
      if (value > best.value) best = {value, bytes};
    }
    return best;
  }

 private:
  [[nodiscard]] const graph::Graph& graph() const { return analysis_.scales.graph(); }

  [[nodiscard]] bool canCut(const Claim& claim) const {
    const auto& value = graph().value(claim.value);
    if (claim.droppable) return !claim.tolerantUses.empty();
    if (claim.tolerantUses.empty() || !value.opaqueReason.empty() || value.literal) return false;
    if (claim.kind == Claim::Kind::Constant) return !claim.tolerated();
    if (claim.kind != Claim::Kind::Derived && claim.kind != Claim::Kind::Refused) return false;
    if (value.constant != kNone || !claim.pattern.sumsAnything() || !graph::isFloat(value.dtype)) return false;
    return value.producer != kNone || value.paramOf == 0;
  }

  struct Value {
    int64_t value = 0;
    int64_t bytes = 0;
    bool centers = false;
  };
  [[nodiscard]] Value valueOf(uint32_t set) const {
    const size_t count = claims_.all().size();
    std::vector<bool> cut(count, false);
    Value out;
    for (size_t i = 0; i < candidates_.size(); ++i) {
      if ((set >> i & 1U) == 0) continue;
      const Claim& claim = claims_[candidates_[i]];
      cut[static_cast<size_t>(candidates_[i])] = true;
      if (claim.droppable) {
        out.value -= kDrop;
      } else if (claim.kind == Claim::Kind::Constant) {
        out.value -= kCopy;
        out.bytes += bytesOf(graph(), graph().value(claim.value).constant);
      } else {
        out.value -= kCentering * claim.pattern.regionSize();
        out.centers = true;
      }
    }
    // Bad spreads until nothing changes.
    std::vector<bool> bad(count, false);
    for (bool changed = true; changed;) {
      changed = false;
      for (size_t c = 0; c < count; ++c) {
        if (bad[c]) continue;
        const Claim& claim = claims_.all()[c];
        bool now = claim.kind == Claim::Kind::Refused || (claim.kind == Claim::Kind::Constant && !claim.tolerated());
        for (const Need& need : claim.needs) now = now || reaches(need.claim, need.throughTolerantUse, bad, cut);
        if (now) changed = bad[c] = true;
      }
    }
    const auto& norms = analysis_.norms.layerNorms;
    for (int n = 0; n < static_cast<int>(norms.size()); ++n) {
      if (claims_.root(n) == kNone || reaches(claims_.root(n), claims_.rootTolerant(n), bad, cut)) continue;
      out.value += kSaved * elements(graph(), norms[static_cast<size_t>(n)].input);
    }
    return out;
  }
  static bool reaches(ClaimId id, bool tolerant, const std::vector<bool>& bad, const std::vector<bool>& cut) {
    return bad[static_cast<size_t>(id)] && !(tolerant && cut[static_cast<size_t>(id)]);
  }

  const Analysis& analysis_;
  const Claims& claims_;
  std::vector<ClaimId> candidates_;
};

// What a plan saves less what it spends, counted from its edits.
int64_t valueOf(const Analysis& analysis, const Plan& plan) {
  const auto& graph = analysis.scales.graph();
  int64_t value = 0;
  for (const int n : plan.folded)
    value += kSaved * elements(graph, analysis.norms.layerNorms[static_cast<size_t>(n)].input);
  for (const auto& planned : plan.edits) {
    if (const auto* insert = std::get_if<fold::InsertCentering>(&planned.edit))
      value -= kCentering * insert->pattern.regionSize();
    if (std::holds_alternative<fold::DropAddend>(planned.edit)) value -= kDrop;
    const auto* center = std::get_if<fold::CenterConstant>(&planned.edit);
    if (center != nullptr && center->split) value -= kCopy;
  }
  return value;
}

PlanOptions unlimited(Policy policy) { return optionsOf(policy, 1e9); }

TEST(Planner, cutIsTheBruteForceOptimum) {
  constexpr size_t kMostCandidates = 12;
  int checked = 0;
  int withCuts = 0;
  for (unsigned seed = 0; seed < 400 && checked < 120; ++seed) {
    const auto graph = testing::randomModel(seed, {2, 3}, 2 + static_cast<int>(seed % 3));
    const auto analysis = must(analyze(graph, Task{}));
    const BruteForce brute(*analysis);
    if (brute.candidates() > kMostCandidates || !analysis->scales.edits.empty()) continue;
    ++checked;
    for (const Policy policy : {Policy::Free, Policy::Balanced}) {
      const Plan plan = makePlan(*analysis, unlimited(policy));
      const auto best = brute.best(policy != Policy::Free, int64_t{1} << 50);
      EXPECT_EQ(valueOf(*analysis, plan), best.value) << "seed " << seed << " " << nameOf(policy) << "\n"
                                                      << graph::printGraph(graph);
      EXPECT_EQ(plan.gap, 0) << seed;
      withCuts += best.value % kSaved != 0 ? 1 : 0;
    }
  }
  EXPECT_GT(checked, 60);
  EXPECT_GT(withCuts, 10);
}

TEST(Planner, growthStaysWithinTheBudgetAndTheGapIsABound) {
  int tight = 0;
  for (unsigned seed = 0; seed < 300 && tight < 40; ++seed) {
    const auto graph = testing::randomModel(seed, {2, 3}, 3);
    const auto analysis = must(analyze(graph, Task{}));
    const BruteForce brute(*analysis);
    if (brute.candidates() > 10 || !analysis->scales.edits.empty()) continue;
    const Plan free = makePlan(*analysis, unlimited(Policy::Balanced));
    if (free.bytesGrown == 0) continue;
    int64_t total = 0;
    for (size_t i = 0; i < graph.constants.size(); ++i) total += bytesOf(graph, static_cast<graph::ConstantId>(i));
    for (const double percent : {0.0, 1.0, 5.0, 12.0}) {
      PlanOptions options;
      options.maxGrowthPercent = percent;
      const auto budget = static_cast<int64_t>(static_cast<double>(total) * percent / 100);
      const Plan plan = makePlan(*analysis, options);
      ++tight;
      EXPECT_LE(plan.bytesGrown, budget) << "seed " << seed << " at " << percent << "%";
      const auto best = brute.best(true, budget);
      const int64_t value = valueOf(*analysis, plan);
      EXPECT_LE(value, best.value);
      // The gap is in elements; copies are counted as a thousandth each, which rounds.
      EXPECT_LE(static_cast<double>(best.value - value), (plan.gap + 0.1) * kSaved)
          << "seed " << seed << " at " << percent << "%";
    }
  }
  EXPECT_GT(tight, 10);
}

TEST(Planner, endlessGrowthIsNoLimit) {
  int grown = 0;
  for (unsigned seed = 0; seed < 100 && grown < 5; ++seed) {
    const auto graph = testing::randomModel(seed, {2, 3}, 3);
    const auto analysis = must(analyze(graph, Task{}));
    PlanOptions options = unlimited(Policy::Balanced);
    const int64_t most = makePlan(*analysis, options).bytesGrown;
    grown += most > 0 ? 1 : 0;
    for (const double percent : {1e15, 1e30, std::numeric_limits<double>::infinity()}) {
      options.maxGrowthPercent = percent;
      EXPECT_EQ(makePlan(*analysis, options).bytesGrown, most) << "seed " << seed << " at " << percent << "%";
    }
  }
  EXPECT_GT(grown, 0);
}

// Two inputs a and b; three norms, each on its own mixture of both. Centering one of the two frees nothing.
std::string threeMixtures(int norms) {
  std::string text = "graph {\n input %a: float32[2, 5, 8]\n input %b: float32[2, 5, 8]\n";
  std::string returns;
  for (int i = 0; i < norms; ++i) {
    const std::string n = std::to_string(i);
    text += " %p" + n + ": float32[2, 5, 8] = Mul(%a, 0." + std::to_string(i + 2) + ")\n %s" + n +
            ": float32[2, 5, 8] = Add(%p" + n + ", %b)\n %y" + n + ": float32[2, 5, 8] = LayerNorm(%s" + n +
            ", _, _) {axes = [2], eps = 1e-05}\n";
    returns += (i == 0 ? "%y" : ", %y") + n;
  }
  return text + " return " + returns + "\n}";
}

TEST(Planner, centersTwoLeavesTogetherWhereOneAtATimeGainsNothing) {
  const Analyzed analysis(threeMixtures(3));
  // Greed looks at one centering at a time: none of them saves more than it costs.
  PlanOptions one = unlimited(Policy::Free);
  for (const graph::ValueId input : analysis->scales.graph().inputs()) {
    one.centerValues = {input};
    EXPECT_TRUE(makePlan(*analysis, one).folded.empty());
  }
  const Plan plan = makePlan(*analysis, unlimited(Policy::Balanced));
  EXPECT_EQ(plan.folded.size(), 3U);
  EXPECT_EQ(plan.centerings, 2);
  EXPECT_EQ(valueOf(*analysis, plan), BruteForce(*analysis).best(true, 0).value);
  // Two norms would save less than two centerings cost; the policy that folds whatever it can does it all the same.
  const Analyzed two(threeMixtures(2));
  EXPECT_TRUE(makePlan(*two, unlimited(Policy::Balanced)).folded.empty());
  EXPECT_EQ(makePlan(*two, unlimited(Policy::All)).folded.size(), 2U);
}

TEST(Planner, measuredPricesDecideWhetherASharedCenteringPays) {
  // One centering of the input would serve both norms.
  const Analyzed analysis(R"(graph {
  input %x: float32[2, 5, 8]
  const %g: float32[8] random 1
  const %w: float32[8, 8] random 2
  %a: float32[2, 5, 8] = LayerNorm(%x, %g, _) {axes = [2], eps = 1e-05}
  %h: float32[2, 5, 8] = Linear(%a, %w, _)
  %r: float32[2, 5, 8] = Add(%x, %h)
  %b: float32[2, 5, 8] = LayerNorm(%r, %g, _) {axes = [2], eps = 1e-05}
  return %b
})");
  PlanOptions options;
  EXPECT_EQ(makePlan(*analysis, options).folded.size(), 2U);
  options.prices = elementPrices(10, 9, 2.5, 80);  // saves 1, costs 2.5
  EXPECT_EQ(makePlan(*analysis, options).folded.size(), 0U);
  options.prices = elementPrices(10, 9, 1.5, 80);
  EXPECT_EQ(makePlan(*analysis, options).folded.size(), 2U);
}

TEST(Planner, aFoldIsWorthSomethingWhateverWasMeasured) {
  const auto slower = elementPrices(5, 20, 1, 1000);
  EXPECT_EQ(slower.folding, 1) << "what needs no centering is folded all the same";
  EXPECT_GT(elementPrices(10, 5, 0, 1000).centering, elementPrices(10, 5, 0, 1000).folding);
}

TEST(Planner, aCenteringForOneNormNeverPays) {
  const Analyzed analysis(threeMixtures(1));
  EXPECT_TRUE(makePlan(*analysis, unlimited(Policy::Balanced)).folded.empty());
  EXPECT_EQ(makePlan(*analysis, unlimited(Policy::All)).centerings, 1);
  PlanOptions kept = unlimited(Policy::All);
  kept.keepNorms = {0};
  EXPECT_TRUE(makePlan(*analysis, kept).edits.empty());
}

// Where the planner may put a centering: in front of what the file reads, not within an operator of the file.

// Whether the first node's output is centered, where the only norm is to be folded whatever it costs.
bool centersTheFirst(const std::string& nodes) {
  const Analyzed model(
      "graph {\n input %a: float32[2, 1, 8]\n input %b: float32[2, 1, 8]\n input %x: float32[2, 5, 8]\n"
      " const %w: float32[8, 8] random 1\n" +
      nodes + "\n return %y\n}");
  const Plan plan = model.plan(Policy::All);
  EXPECT_EQ(plan.folded.size(), 1U) << nodes;
  EXPECT_GE(plan.centerings, 1) << nodes;
  return std::ranges::any_of(plan.edits, [&](const PlannedEdit& planned) {
    const auto* insert = std::get_if<fold::InsertCentering>(&planned.edit);
    return insert != nullptr && insert->value == model.graph().nodes[0].outputs[0];
  });
}

const std::string kSum = " %s: float32[2, 1, 8] = Add(%a, %b)", kWithin = kSum + " {inside = true}";

TEST(PlannerReach, aSumWithinAnOperatorIsNotCenteredThoughThatIsCheapest) {
  const std::string rest =
      "\n %h: float32[2, 5, 8] = Linear(%x, %w, _)\n %k: float32[2, 5, 8] = Add(%s, %h)\n"
      " %y: float32[2, 5, 8] = LayerNorm(%k, _, _) {axes = [2], eps = 1e-05}";
  EXPECT_TRUE(centersTheFirst(kSum + rest));
  EXPECT_FALSE(centersTheFirst(kWithin + rest));
}

TEST(PlannerReach, aSumThatAFusedNormReadsIsCenteredForIt) {
  const std::string norm = "\n %y: float32[2, 1, 8] = LayerNorm(%s, _, _) {axes = [2], eps = 1e-05";
  EXPECT_TRUE(centersTheFirst(kWithin + norm + ", fused = true}"));
  EXPECT_FALSE(centersTheFirst(kWithin + norm + "}"));
}

}  // namespace
}  // namespace normlens::analysis
