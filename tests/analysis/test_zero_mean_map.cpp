// Which values are zero-mean now, after the plan, and not; where the shift of a centered layer ends.
#include <gtest/gtest.h>

#include <algorithm>

#include "core/analysis/zero_mean_map.h"
#include "tests/support/graph_text.h"

namespace normlens::analysis {
namespace {

// A table feeds a stream; a linear adds to it; two norms read it. Behind them a norm of an activation, which is
// blocked.
constexpr const char* kModel = R"(graph {
    input %ids: int64[2, 5]
    const %table: float32[11, 8] random 9
    const %w: float32[8, 8] random 1
    const %b: float32[8] random 2
    const %g: float32[8] random 3
    %s: float32[2, 5, 8] = Gather(%table, %ids) {axis = 0}
    %n1: float32[2, 5, 8] = LayerNorm(%s, %g, %b) {axes = [2], eps = 1e-05}
    %f: float32[2, 5, 8] = Linear(%n1, %w, _)
    %r: float32[2, 5, 8] = Add(%s, %f)
    %n2: float32[2, 5, 8] = LayerNorm(%r, %g, %b) {axes = [2], eps = 1e-05}
    %e: float32[2, 5, 8] = Elementwise(%n2)
    %n3: float32[2, 5, 8] = LayerNorm(%e, %g, %b) {axes = [2], eps = 1e-05}
    return %n3
  })";

class ZeroMeanMapTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto parsed = graph::parseGraph(kModel);
    ASSERT_TRUE(parsed) << parsed.error().message;
    graph_ = std::move(*parsed);
    auto made = analysis::analyze(graph_, Task{});
    ASSERT_TRUE(made) << made.error().message;
    analysis_ = std::move(*made);
  }

  [[nodiscard]] std::vector<std::string> names(const std::vector<int>& values) const {
    std::vector<std::string> out;
    for (const int value : values) out.push_back(graph_.value(value).name);
    return out;
  }
  [[nodiscard]] graph::NodeId makerOf(const std::string& name) const {
    for (const auto& node : graph_.nodes) {
      if (graph_.value(node.outputs.at(0)).name == name) return graph_.value(node.outputs[0]).producer;
    }
    return graph::kNone;
  }
  [[nodiscard]] analysis::Plan planOf(analysis::Policy policy) const {
    analysis::PlanOptions options;
    options.policy = policy;
    return makePlan(*analysis_, options);
  }

  graph::Graph graph_;
  std::unique_ptr<analysis::Analysis> analysis_;
};

TEST_F(ZeroMeanMapTest, streamIsZeroMeanAfterThePlanAndTheActivationIsNot) {
  const auto map = zeroMeanMap(*analysis_, planOf(analysis::Policy::Free));
  EXPECT_EQ(names(map.planned), (std::vector<std::string>{"s", "f", "r"}));
  EXPECT_EQ(names(map.notZero), std::vector<std::string>{"e"});
  EXPECT_TRUE(map.now.empty());
}

TEST_F(ZeroMeanMapTest, withoutAPlanNothingIsPlanned) {
  const auto map = zeroMeanMap(*analysis_, {});
  EXPECT_TRUE(map.planned.empty());
  EXPECT_EQ(map.notZero.size(), 4U);
}

TEST_F(ZeroMeanMapTest, aCenteringAtRunTimeCounts) {
  const auto map = zeroMeanMap(*analysis_, planOf(analysis::Policy::All));
  EXPECT_TRUE(map.notZero.empty());
  EXPECT_EQ(map.planned.size(), 4U);
}

TEST_F(ZeroMeanMapTest, whatIsZeroMeanAlreadyIsSo) {
  auto parsed = graph::parseGraph(R"(graph {
    input %x: float32[2, 5, 8]
    %m: float32[2, 5, 1] = Reduce(%x) {op = "mean", axes = [2], keepdim = true}
    %c: float32[2, 5, 8] = Sub(%x, %m)
    %y: float32[2, 5, 8] = LayerNorm(%c, _, _) {axes = [2], eps = 1e-05}
    return %y
  })");
  ASSERT_TRUE(parsed) << parsed.error().message;
  const auto analysis = analysis::analyze(*parsed, Task{});
  ASSERT_TRUE(analysis);
  const auto map = zeroMeanMap(**analysis, {});
  ASSERT_EQ(map.now.size(), 1U);
  EXPECT_EQ(parsed->value(map.now[0]).name, "c");
}

TEST_F(ZeroMeanMapTest, theShiftOfALayerEndsAtTheNorms) {
  const auto plan = planOf(analysis::Policy::Free);
  const auto cone = shiftCone(*analysis_, plan, makerOf("f"));
  EXPECT_TRUE(cone.reason.empty());
  EXPECT_EQ(names(cone.values), (std::vector<std::string>{"f", "r"}));
  EXPECT_EQ(cone.ends, std::vector<int>{makerOf("n2")});
  const auto table = shiftCone(*analysis_, plan, makerOf("s"));
  EXPECT_EQ(names(table.values), (std::vector<std::string>{"s", "r"}));
  EXPECT_EQ(table.ends, (std::vector<int>{makerOf("n1"), makerOf("n2")}));
}

TEST_F(ZeroMeanMapTest, aNodeWithoutCenteredWeightsHasNoCone) {
  const auto cone = shiftCone(*analysis_, planOf(analysis::Policy::Free), makerOf("e"));
  EXPECT_TRUE(cone.values.empty());
  EXPECT_FALSE(cone.reason.empty());
}

}  // namespace
}  // namespace normlens::analysis
