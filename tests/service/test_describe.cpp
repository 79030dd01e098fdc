#include <gtest/gtest.h>

#include "core/service/describe/describe.h"
#include "tests/support/graph_text.h"

namespace normlens::service {
namespace {

protocol::Analysis described(const std::string& text, const std::string& probeError) {
  const auto graph = graph::parseGraph(text).value();
  return describeAnalysis(graph, **analysis::analyze(graph, {}), {}, probeError);
}

TEST(Describe, ThatThereIsNoLayerNormIsOnlySaidWhereShapesAreKnown) {
  const std::string relu = "graph {\n  input %x: float32[2, 8]\n  %y: float32[2, 8] = Elementwise(%x)\n  return %y\n}";
  EXPECT_EQ(described(relu, "").note, "There is no LayerNorm in this model.");
  const auto unknown = described(relu, "no kernel for Odd");
  EXPECT_EQ(unknown.probe_error, "no kernel for Odd");
  EXPECT_NE(unknown.note.find("may be missed"), std::string::npos) << unknown.note;
}

TEST(Describe, NormsThatAreFoundNeedNoNote) {
  const auto analysis = described(R"(graph {
    input %x: float32[2, 8]
    %n: float32[2, 8] = LayerNorm(%x, _, _) {axes = [1], eps = 1e-05} op "aten::layer_norm"
    return %n
  })",
                                  "it did not run");
  EXPECT_EQ(analysis.note, "");
  EXPECT_EQ(analysis.totals.layer_norms, 1);
}

TEST(Describe, UnknownNormsAreCountedForThemselves) {
  const auto analysis = described(R"(graph {
    input %x: float32[2, 8]
    %h: float32 = Elementwise(%x)
    %n: float32 = LayerNorm(%h, _, _) {eps = 1e-05}
    return %n
  })",
                                  "it did not run");
  EXPECT_EQ(analysis.norms.at(0).verdict, "unknown");
  EXPECT_EQ(analysis.totals.blocked, 0);
  EXPECT_EQ(inWords(analysis.totals), "1 LayerNorm, 0 free, 0 with centering, 0 blocked, 1 unknown");
}

}  // namespace
}  // namespace normlens::service
