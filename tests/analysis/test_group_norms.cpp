// GroupNorms: those of one position are LayerNorms of their groups, the others are refused with the reason. Papers 000
// A.4 and 001 C.3, eq. 28 to 35.
#include <gtest/gtest.h>

#include "core/analysis/norms/group_norms.h"
#include "tests/analysis/analyzed.h"

namespace normlens::analysis {
namespace {

// A linear to 8 channels, and the norm behind it; a second linear reads its output.
std::string behindALinear(const std::string& norm, const std::string& declared = " declared [-1, 6]") {
  return "graph {\n input %x: float64[3, 6]" + declared + R"(
    const %w: float64[8, 6] random 1
    const %b: float64[8] random 2
    const %g: float64[8] random 3
    const %e: float64[8] random 4
    const %two: float64[2] random 5
    %h: float64[3, 8] = Linear(%x, %w, %b)
)" + norm +
         "\n return %y\n}";
}

void expectFolds(const std::string& text) {
  const Analyzed model(text);
  ASSERT_EQ(model.norms().size(), 1U) << text;
  EXPECT_EQ(model->verdicts[0].verdict, Verdict::Free) << model->verdicts[0].reason;
  for (const Policy policy : kPolicies) {
    const Plan plan = model.plan(policy);
    EXPECT_EQ(plan.folded.size(), 1U);
    EXPECT_LT(model.difference(plan), 1e-12) << text;
  }
}

TEST(GroupNorms, behindALinearFoldGroupByGroup) {
  for (const char* groups : {"1", "2", "4"}) {
    expectFolds(
        behindALinear("%y: float64[3, 8] = GroupNorm(%h, %g, %e) {groups = " + std::string(groups) + ", eps = 1e-05}"));
  }
  expectFolds(behindALinear("%y: float64[3, 8] = GroupNorm(%h, _, _) {groups = 2, eps = 0.1}"));
}

TEST(GroupNorms, asExportersWriteThemFold) {
  expectFolds(behindALinear(R"(%r: float64[3, 2, 4] = Reshape(%h)
    %n: float64[3, 2, 4] = InstanceNorm(%r, %two, %two) {eps = 1e-05}
    %y: float64[3, 8] = Reshape(%n))"));
}

TEST(GroupNorms, ofPositionsThatAreOneInEveryRunFold) {
  const auto convolved = [](const std::string& ones) {
    return R"(graph {
      input %x: float64[3, 6, 1, 1] declared [-1, 6, )" +
           ones + R"(]
      const %w: float64[8, 6, 1, 1] random 1
      const %b: float64[8] random 2
      const %g: float64[8] random 3
      const %e: float64[8] random 4
      %h: float64[3, 8, 1, 1] = Conv(%x, %w, %b) {groups = 1}
      %y: float64[3, 8, 1, 1] = GroupNorm(%h, %g, %e) {groups = 2, eps = 1e-05}
      return %y
    })";
  };
  expectFolds(convolved("1, 1"));
  const Analyzed byChance(convolved("1, -1"));
  ASSERT_EQ(byChance.norms().size(), 1U);
  EXPECT_EQ(byChance->verdicts[0].verdict, Verdict::Blocked);
}

// Another run may have another axis, over which it would take its mean, too.
TEST(GroupNorms, ofAnUnknownNumberOfAxesDoNotFold) {
  const Analyzed model(behindALinear("%y: float64[3, 8] = GroupNorm(%h, %g, %e) {groups = 2, eps = 1e-05}", ""));
  ASSERT_EQ(model.norms().size(), 1U);
  EXPECT_EQ(model->verdicts[0].verdict, Verdict::Blocked);
}

// The groups of a norm are its own: centering by others would be seen.
TEST(GroupNorms, ofOtherGroupsNoticeEachOther) {
  const Analyzed model(behindALinear(R"(%p: float64[3, 8] = GroupNorm(%h, %g, %e) {groups = 2, eps = 1e-05}
    %q: float64[3, 8] = LayerNorm(%h, _, _) {axes = [1], eps = 1e-05}
    %y: float64[3, 8] = Add(%p, %q))"));
  ASSERT_EQ(model.norms().size(), 2U);
  for (const Policy policy : kPolicies) EXPECT_LT(model.difference(model.plan(policy)), 1e-12);
  EXPECT_NE(model->verdicts[0].verdict, Verdict::Free);  // the LayerNorm sees the difference of two groups
}

std::string reasonOf(const std::string& text) {
  const Analyzed model(text);
  EXPECT_TRUE(model.norms().empty());
  const auto& others = model->norms.others;
  if (others.empty()) return {};
  const OtherVerdict found = verdictOf(model.graph(), others[0]);
  EXPECT_EQ(found.verdict, Verdict::Blocked);
  return found.reason;
}

// GroupNormalization of opset 18 has a scale for each group: one number says nothing of how many channels there are.
TEST(GroupNorms, aScaleForEachGroupLeavesTheChannelsOpen) {
  const Analyzed gated(R"(graph {
      input %x: float64[3, 6, 5] declared [-1, 6, -1]
      input %g: float64[3, 1, 5] declared [-1, -1, -1]
      const %s: float64[1] random 1
      const %w: float64[8, 6, 1] random 2
      %gate: float64[3, 1, 5] = GroupNorm(%g, %s, %s) {groups = 1, eps = 1e-05}
      %h: float64[3, 8, 5] = Conv(%x, %w) {groups = 1}
      %y: float64[3, 8, 5] = Mul(%h, %gate)
      %t: float64[3, 5, 8] = Permute(%y) {perm = [0, 2, 1]}
      %o: float64[3, 5, 8] = LayerNorm(%t, _, _) {axes = [2], eps = 1e-05}
      return %o
    })");
  EXPECT_EQ(gated->verdicts[0].verdict, Verdict::Blocked);
}

TEST(GroupNorms, overSpaceAreRefusedAsLesson7Shows) {
  const auto norm = [](const std::string& op) {
    return "graph {\n input %x: float64[2, 8, 3, 3] declared [-1, 8, -1, -1]\n %y: float64[2, 8, 3, 3] = " + op +
           " {groups = 2, eps = 1e-05}\n return %y\n}";
  };
  EXPECT_EQ(reasonOf(norm("GroupNorm(%x, _, _)")),
            "it takes its mean over 9 positions and the channels of a group: a weight is the same at every position, "
            "what the mean over space is only the input decides");
  EXPECT_NE(reasonOf(norm("InstanceNorm(%x, _, _)")).find("over 9 positions:"), std::string::npos);
  // Exporters write a GroupNorm as a view and an InstanceNorm: the channels of the view are no positions.
  EXPECT_EQ(reasonOf("graph {\n input %x: float64[2, 8, 3, 3] declared [-1, 8, -1, -1]\n"
                     " %v: float64[2, 2, 36] = Reshape(%x)\n"
                     " %y: float64[2, 2, 36] = InstanceNorm(%v, _, _) {eps = 1e-05}\n return %y\n}"),
            reasonOf(norm("GroupNorm(%x, _, _)")));
  EXPECT_EQ(reasonOf("graph {\n input %x: float64[2, 8, 1] declared [-1, 8, 1]\n %y: float64[2, 8, 1] = "
                     "InstanceNorm(%x, _, _) {eps = 1e-05}\n return %y\n}"),
            "it normalizes single numbers: whatever they are, its output is \xCE\xB2");
}

}  // namespace
}  // namespace normlens::analysis
