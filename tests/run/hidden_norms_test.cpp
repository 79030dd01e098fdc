// Which norms the outputs of a model do not show: a path of continuous ops shows one, a step or an index ends it.
#include "core/run/proof/hidden_norms.h"

#include <gtest/gtest.h>

#include "core/run/proof/deciding_values.h"
#include "tests/support/graph_text.h"

namespace normlens::run {
namespace {

// Names of what ends before a step, of the norm %n; none where an output shows it.
std::vector<std::string> beforeSteps(const std::string& body) {
  const auto graph = graph::parsed(R"(graph {
  input %x: float32[3, 8]
  input %w: float32[3, 8]
  %n: float32[3, 8] = LayerNorm(%x, _, _) {axes = [1], eps = 1e-05}
  %r: float32[3, 8] = Elementwise(%n) function Relu op "Relu"
)" + body + "}");
  std::vector<std::string> names;
  for (const auto& hidden : hiddenNorms(graph, {graph.node(0).outputs[0]}, decidingValues(graph)))
    for (const auto value : hidden.before) names.push_back(graph.value(value).name);
  return names;
}

using Names = std::vector<std::string>;

TEST(HiddenNorms, AStepHidesWhatItReads) {
  EXPECT_EQ(beforeSteps("  %y: float32[3, 8] = Elementwise(%r) function Step op \"Ceil\"\n  return %y\n"), Names{"r"});
  EXPECT_EQ(beforeSteps("  %y: float32[3, 8] = Opaque(%r) op \"Own\"\n  return %y\n"), Names{"r"});
  EXPECT_EQ(beforeSteps("  %y: float32[3, 8] = Elementwise(%r) function Step op \"Ceil\"\n"
                        "  %z: float32[3, 8] = Add(%y, %n)\n  return %z\n"),
            Names{})
      << "the sum shows it beside the step";
}

TEST(HiddenNorms, FlagsAndIndicesHideWhatTheyWereMadeFrom) {
  EXPECT_EQ(beforeSteps("  %c: bool[3, 8] = Elementwise(%r) op \"Greater\"\n"
                        "  %y: float32[3, 8] = Where(%c, %w, 1)\n  return %y\n"),
            Names{"r"});
  EXPECT_EQ(beforeSteps("  %c: int64[3] = Reduce(%r) {op = \"argmax\"}\n"
                        "  %y: float32[3, 8] = Gather(%w, %c) {axis = 0}\n  return %y\n"),
            Names{"r"});
  EXPECT_EQ(beforeSteps("  %c: int64[3] = Reduce(%r) {op = \"argmax\"}\n  return %c\n"), Names{})
      << "what decides an output is compared anyway";
  EXPECT_EQ(beforeSteps("  %c: int64[2] = ShapeQuery(%r)\n  return %w\n"), Names{}) << "no number of it is read";
}

// What goes into a loop comes out of it at its own place, and the trip count carries nothing.
TEST(HiddenNorms, LoopsAndBranchesAreFollowed) {
  const auto loop = [](const std::string& carried, const std::string& end) {
    return beforeSteps("  %o: float32[3, 8], %p: float32[3, 8] = Loop(3, 1, " + carried + R"()
  block (%i: int64[], %a: float32[3, 8], %b: float32[3, 8]) {
    %s: float32[3, 8] = Elementwise(%a) function Step op "Sign"
    return 1, %s, %b
  }
  return )" + end + "\n");
  };
  EXPECT_EQ(loop("%w, %r", "%p"), Names{});
  EXPECT_EQ(loop("%r, %w", "%p"), Names{"a"});
}

}  // namespace
}  // namespace normlens::run
