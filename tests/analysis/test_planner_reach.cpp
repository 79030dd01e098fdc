// Where the planner may put a centering: in front of what the file reads, not within an operator of the file.
#include <gtest/gtest.h>

#include <algorithm>

#include "core/analysis/analysis.h"
#include "tests/support/graph_text.h"

namespace normlens::analysis {
namespace {

// Whether the first node's output is centered, where the only norm is to be folded whatever it costs.
bool centersTheFirst(const std::string& nodes) {
  const auto graph = graph::parseGraph(
      "graph {\n input %a: float32[2, 1, 8]\n input %b: float32[2, 1, 8]\n input %x: float32[2, 5, 8]\n"
      " const %w: float32[8, 8] random 1\n" +
      nodes + "\n return %y\n}");
  if (!graph) throw std::logic_error(graph.error().message);
  const auto analysis = analyze(*graph, Task{});
  if (!analysis) throw std::logic_error(analysis.error().message);
  PlanOptions options;
  options.policy = Policy::All;
  const Plan plan = makePlan(**analysis, options);
  EXPECT_EQ(plan.folded.size(), 1U) << nodes;
  EXPECT_GE(plan.centerings, 1) << nodes;
  return std::ranges::any_of(plan.edits, [&](const PlannedEdit& planned) {
    const auto* insert = std::get_if<fold::InsertCentering>(&planned.edit);
    return insert != nullptr && insert->value == graph->nodes[0].outputs[0];
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
