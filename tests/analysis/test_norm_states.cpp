// What a plan does with each norm, why, and what it does where the user keeps or copies tensors.
#include <gtest/gtest.h>

#include <set>

#include "core/analysis/norm_states.h"
#include "core/graph/queries.h"
#include "tests/analysis/analyzed.h"
#include "tests/support/must.h"
#include "tests/support/random_graph.h"

namespace normlens::analysis {
namespace {

using graph::ValueId;

// A table that feeds two norms along a residual stream and is read as logits, too.
constexpr const char* kTied = R"(graph {
  input %ids: int64[2, 5]
  const %wte: float32[50, 8] random 1
  const %g: float32[8] random 2
  const %w: float32[8, 8] random 3
  %x: float32[2, 5, 8] = Gather(%wte, %ids) {axis = 0}
  %a: float32[2, 5, 8] = LayerNorm(%x, %g, _) {axes = [2], eps = 1e-05}
  %h: float32[2, 5, 8] = Linear(%a, %w, _)
  %r: float32[2, 5, 8] = Add(%x, %h)
  %b: float32[2, 5, 8] = LayerNorm(%r, %g, _) {axes = [2], eps = 1e-05}
  %y: float32[2, 5, 50] = Linear(%b, %wte, _)
  return %y
})";

struct Model : Analyzed {
  using Analyzed::Analyzed;
  [[nodiscard]] ValueId value(const std::string& name) const {
    const auto found = std::ranges::find(graph().values, name, &graph::Value::name);
    return static_cast<ValueId>(found - graph().values.begin());
  }
  [[nodiscard]] std::vector<NormState> states(const PlanOptions& options) const {
    return normStates(**this, makePlan(**this, options), &options);
  }
};

TEST(NormStates, aCenteringIsCountedAtTheFirstNormThatReadsItBecauseACopyWouldBeTooLarge) {
  const Model model(kTied);
  EXPECT_EQ(model->verdicts[0].verdict, Verdict::Free);
  EXPECT_EQ(model->verdicts[0].reason,
            "Can fold free with a copy of wte (+1.6 kB, 85%): every path to it ends in a tensor that can be centered.");
  const auto states = model.states({});
  ASSERT_EQ(states.size(), 2U);
  EXPECT_EQ(states[0].kind, NormState::Kind::FoldedWithCentering);
  EXPECT_EQ(states[0].because, "a copy of wte would add 1.6 kB (85%, limit 10%)");
  EXPECT_TRUE(states[0].counted);
  EXPECT_EQ(states[1].kind, NormState::Kind::Folded);
  EXPECT_EQ(states[1].because, "");
  EXPECT_EQ(states[1].centerings, states[0].centerings);
  ASSERT_EQ(states[0].ways.size(), 2U);
  EXPECT_TRUE(states[0].ways[0].copy);
  EXPECT_FALSE(states[0].ways[0].chosen);
  EXPECT_EQ(states[0].ways[0].bytesGrown, 1600);
  EXPECT_EQ(states[0].ways[1].elements, 80);
  EXPECT_TRUE(states[0].ways[1].chosen);
}

TEST(NormStates, aCopyThatTheUserWantsIsMadeWhateverItAdds) {
  const Model model(kTied);
  PlanOptions options;
  options.copyValues = {model.value("wte")};
  const Plan plan = makePlan(*model, options);
  EXPECT_EQ(plan.folded.size(), 2U);
  EXPECT_EQ(plan.centerings, 0);
  EXPECT_EQ(plan.bytesGrown, 1600);
  const auto states = normStates(*model, plan, &options);
  EXPECT_EQ(states[0].kind, NormState::Kind::Folded);
  ASSERT_EQ(states[0].ways.size(), 2U);
  EXPECT_TRUE(states[0].ways[0].chosen);
  EXPECT_FALSE(states[0].ways[1].chosen);
}

TEST(NormStates, aTensorThatIsKeptHasACenteringBehindItWhereThatPays) {
  const Model model(kTied);
  PlanOptions options;
  options.keepValues = {model.value("wte"), model.value("w")};
  const auto states = model.states(options);
  EXPECT_EQ(states[0].kind, NormState::Kind::Kept) << "a centering for each would not pay";
  EXPECT_EQ(states[0].because, "you keep wte as it is, and a centering of [2,5,8] costs more than one fold saves");
  options.keepValues = {model.value("wte")};
  options.maxGrowthPercent = 100;
  const auto centered = model.states(options);
  EXPECT_EQ(centered[0].kind, NormState::Kind::FoldedWithCentering);
  EXPECT_EQ(centered[0].because, "you keep wte as it is");
}

TEST(NormStates, whatIsKeptSaysWhy) {
  const Model model(kTied);
  PlanOptions options;
  options.keepNorms = {1};
  auto states = model.states(options);
  EXPECT_EQ(states[1].because, "you keep it");
  EXPECT_EQ(states[0].kind, NormState::Kind::Kept);
  EXPECT_EQ(
      states[0].because,
      "a copy of wte would add 1.6 kB (85%, limit 10%), and a centering of [2,5,8] costs more than one fold saves");
  options.prices = elementPrices(10, 9, 2.5, 80);
  states = model.states(options);
  EXPECT_EQ(
      states[0].because,
      "a copy of wte would add 1.6 kB (85%, limit 10%), and a centering does not pay: it costs 1.5 \xC2\xB5s more "
      "than it saves");
  options = {};
  options.policy = Policy::Free;
  options.keepValues = {model.value("x")};
  EXPECT_EQ(model.states(options)[0].kind, NormState::Kind::Folded) << "what is computed can be kept, too";
}

TEST(NormStates, aBlockedNormIsKeptForTheReasonOfItsVerdict) {
  const Model model(R"(graph {
  input %x: float32[2, 5, 8]
  %a: float32[2, 5, 8] = LayerNorm(%x, _, _) {axes = [2], eps = 1e-05}
  return %a
})");
  const auto states = model.states({});
  EXPECT_EQ(states[0].because,
            "its input comes from the model input x, which cannot be centered: it is an input of the "
            "model");
  EXPECT_TRUE(states[0].ways.empty());
}

std::set<graph::ConstantId> editedConstants(const Plan& plan, bool copies) {
  std::set<graph::ConstantId> out;
  for (const auto& planned : plan.edits) {
    if (const auto* center = std::get_if<fold::CenterConstant>(&planned.edit)) {
      for (const auto& part : center->parts) {
        if (center->split == copies) out.insert(part.constant);
      }
    } else if (const auto* scale = std::get_if<fold::AbsorbScale>(&planned.edit); scale != nullptr && !copies) {
      for (const auto& part : scale->parts) out.insert(part.constant);
    } else if (const auto* shift = std::get_if<fold::AbsorbShift>(&planned.edit); shift != nullptr && !copies) {
      for (const auto& part : shift->parts) out.insert(part.bias);
    }
  }
  return out;
}

void expectConsistent(const std::vector<NormState>& states, const Plan& plan, const std::string& where) {
  std::set<size_t> counted;
  for (int n = 0; n < static_cast<int>(states.size()); ++n) {
    const NormState& state = states[static_cast<size_t>(n)];
    const bool folded = std::ranges::count(plan.folded, n) > 0;
    EXPECT_EQ(folded, state.kind != NormState::Kind::Kept) << where;
    EXPECT_EQ(state.counted, state.kind == NormState::Kind::FoldedWithCentering) << where;
    EXPECT_EQ(state.because.empty(), folded && !state.counted) << where << ": " << state.because;
    EXPECT_NE(state.ways.size(), 1U) << where;
    for (const size_t edit : state.centerings) {
      EXPECT_TRUE(std::holds_alternative<fold::InsertCentering>(plan.edits[edit].edit)) << where;
      EXPECT_TRUE(state.counted || !counted.insert(edit).second) << where << ": counted before it is told";
      counted.insert(edit);
    }
  }
  EXPECT_EQ(static_cast<int>(counted.size()), plan.centerings) << where;
}

TEST(NormStates, whatTheUserKeepsIsNeverEditedAndWhatIsToldIsThePlan) {
  int edited = 0, kept = 0, copied = 0;
  for (unsigned seed = 0; seed < 300; ++seed) {
    const auto graph = testing::randomModel(seed, {2, 3}, 3 + static_cast<int>(seed % 4));
    const auto analysis = must(analyze(graph, Task{}));
    const auto valueOf = graph::valuesOfConstants(graph);
    for (const Policy policy : kPolicies) {
      const PlanOptions options = optionsOf(policy);
      const Plan plan = makePlan(*analysis, options);
      const std::string where = "seed " + std::to_string(seed) + " " + nameOf(policy);
      expectConsistent(normStates(*analysis, plan, &options), plan, where);
      for (const graph::ConstantId constant : editedConstants(plan, false)) {
        ++edited;
        PlanOptions keeping = options;
        keeping.keepValues = {valueOf[static_cast<size_t>(constant)]};
        const Plan without = makePlan(*analysis, keeping);
        EXPECT_FALSE(editedConstants(without, false).contains(constant)) << where;
        EXPECT_FALSE(editedConstants(without, true).contains(constant)) << where;
        kept += without.folded.empty() ? 0 : 1;
        expectConsistent(normStates(*analysis, without, &keeping), without, where + ", keeping");
      }
      PlanOptions tight = options;
      tight.maxGrowthPercent = 0;
      const Plan narrow = makePlan(*analysis, tight);
      PlanOptions ample = options;
      ample.maxGrowthPercent = 1e9;
      for (const graph::ConstantId constant : editedConstants(makePlan(*analysis, ample), true)) {
        PlanOptions copying = tight;
        copying.copyValues = {valueOf[static_cast<size_t>(constant)]};
        const Plan with = makePlan(*analysis, copying);
        EXPECT_GE(with.folded.size(), narrow.folded.size()) << where;
        const bool freed = with.folded.size() > narrow.folded.size() || with.centerings < narrow.centerings;
        EXPECT_TRUE(!freed || editedConstants(with, true).contains(constant)) << where;
        copied += freed ? 1 : 0;
        expectConsistent(normStates(*analysis, with, &copying), with, where + ", copying");
      }
    }
  }
  EXPECT_GT(edited, 500);
  EXPECT_GT(kept, 200);
  EXPECT_GT(copied, 20);
}

}  // namespace
}  // namespace normlens::analysis
