// Which values are zero-mean now, after the plan, and not; where the shift of a centered layer ends.
#include <gtest/gtest.h>

#include "core/analysis/zero_mean_map.h"
#include "tests/analysis/analyzed.h"

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

struct Stream : Analyzed {
  Stream() : Analyzed(kModel) {}
  [[nodiscard]] std::vector<std::string> names(const std::vector<int>& values) const {
    std::vector<std::string> out;
    for (const int value : values) out.push_back(graph().value(value).name);
    return out;
  }
  [[nodiscard]] graph::NodeId makerOf(const std::string& name) const {
    for (const auto& node : graph().nodes) {
      if (graph().value(node.outputs.at(0)).name == name) return graph().value(node.outputs[0]).producer;
    }
    return graph::kNone;
  }
};

TEST(ZeroMeanMap, streamIsZeroMeanAfterThePlanAndTheActivationIsNot) {
  const Stream stream;
  const auto map = zeroMeanMap(*stream, stream.plan(Policy::Free));
  EXPECT_EQ(stream.names(map.planned), (std::vector<std::string>{"s", "f", "r"}));
  EXPECT_EQ(stream.names(map.notZero), std::vector<std::string>{"e"});
  EXPECT_TRUE(map.now.empty());
}

TEST(ZeroMeanMap, withoutAPlanNothingIsPlanned) {
  const Stream stream;
  const auto map = zeroMeanMap(*stream, {});
  EXPECT_TRUE(map.planned.empty());
  EXPECT_EQ(map.notZero.size(), 4U);
}

TEST(ZeroMeanMap, aCenteringAtRunTimeCounts) {
  const Stream stream;
  const auto map = zeroMeanMap(*stream, stream.plan(Policy::All));
  EXPECT_TRUE(map.notZero.empty());
  EXPECT_EQ(map.planned.size(), 4U);
}

TEST(ZeroMeanMap, whatIsZeroMeanAlreadyIsSo) {
  const Analyzed model(R"(graph {
    input %x: float32[2, 5, 8]
    %m: float32[2, 5, 1] = Reduce(%x) {op = "mean", axes = [2], keepdim = true}
    %c: float32[2, 5, 8] = Sub(%x, %m)
    %y: float32[2, 5, 8] = LayerNorm(%c, _, _) {axes = [2], eps = 1e-05}
    return %y
  })");
  const auto map = zeroMeanMap(*model, {});
  ASSERT_EQ(map.now.size(), 1U);
  EXPECT_EQ(model.graph().value(map.now[0]).name, "c");
}

TEST(ZeroMeanMap, theShiftOfALayerEndsAtTheNorms) {
  const Stream stream;
  const auto plan = stream.plan(Policy::Free);
  const auto cone = shiftCone(*stream, plan, stream.makerOf("f"));
  EXPECT_TRUE(cone.reason.empty());
  EXPECT_EQ(stream.names(cone.values), (std::vector<std::string>{"f", "r"}));
  EXPECT_EQ(cone.ends, std::vector<int>{stream.makerOf("n2")});
  const auto table = shiftCone(*stream, plan, stream.makerOf("s"));
  EXPECT_EQ(stream.names(table.values), (std::vector<std::string>{"s", "r"}));
  EXPECT_EQ(table.ends, (std::vector<int>{stream.makerOf("n1"), stream.makerOf("n2")}));
}

TEST(ZeroMeanMap, aNodeWithoutCenteredWeightsHasNoCone) {
  const Stream stream;
  const auto cone = shiftCone(*stream, stream.plan(Policy::Free), stream.makerOf("e"));
  EXPECT_TRUE(cone.values.empty());
  EXPECT_FALSE(cone.reason.empty());
}

}  // namespace
}  // namespace normlens::analysis
