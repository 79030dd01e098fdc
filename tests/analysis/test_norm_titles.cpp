// What a LayerNorm is called where it is to be read: the module that the file names, which an ONNX node's name need
// not.
#include <gtest/gtest.h>

#include "tests/analysis/analyzed.h"

namespace normlens::analysis {
namespace {

std::string norm(const std::string& made, const std::string& read, const std::string& where) {
  return "  %" + made + ": float32[2, 8] = LayerNorm(%" + read + ", _, _) {axes = [1], eps = 1e-05} " + where + "\n";
}

std::vector<std::string> titles(const std::string& statements) {
  const graph::Graph graph = parsed("graph {\n  input %x: float32[2, 8]\n" + statements + "}\n");
  std::vector<std::string> out;
  for (const LayerNorm& found : findNorms(graph).layerNorms) out.push_back(found.title);
  return out;
}

TEST(NormTitles, AreTheModulesOfTheirOwn) {
  EXPECT_EQ(
      titles(norm("a", "x", R"(name "node_layer_norm" scope "m.norm")") +
             norm("b", "a", R"(name "/m/layers.0/norm/LayerNormalization" scope "m.layers.0.norm")") + "  return %b\n"),
      (std::vector<std::string>{"m.norm", "m.layers.0.norm"}));
}

TEST(NormTitles, SayWhichOpWhereTheModuleHoldsMore) {
  EXPECT_EQ(titles(norm("a", "x", R"(name "node_layer_norm" scope "m.block")") +
                   norm("b", "a", R"(name "node_layer_norm_1" scope "m.block")") +
                   norm("c", "b", R"(name "node_layer_norm_2" scope "m")") + "  return %c\n"),
            (std::vector<std::string>{"m.block.node_layer_norm", "m.block.node_layer_norm_1", "m.node_layer_norm_2"}))
      << "m holds the block, too";
}

TEST(NormTitles, AreTheNamesWhereThoseSayItOrNothingDoes) {
  EXPECT_EQ(titles(norm("a", "x", R"(name "m.block.norm" scope "m.block")") + norm("b", "a", R"(name "n")") +
                   norm("c", "b", R"(name "n")") + "  return %c\n"),
            (std::vector<std::string>{"m.block.norm", "n", "n#1"}));
}

TEST(NormTitles, StandInTheReasonsOfOthers) {
  const Analyzed model(R"(graph {
  input %x: float64[2, 8]
  const %g: float64[8] values <1, 2, 3, 4, 5, 6, 7, 8>
  %a: float64[2, 8] = LayerNorm(%x, %g, _) {axes = [1], eps = 1e-05} name "node_layer_norm" scope "m.norm"
  %b: float64[2, 8] = LayerNorm(%a, _, _) {axes = [1], eps = 1e-05} name "node_layer_norm_1" scope "m.last"
  return %b
}
)");
  const std::string& reason = model->verdicts[1].reason;
  EXPECT_NE(reason.find("the LayerNorm m.norm with"), std::string::npos) << reason;
}

}  // namespace
}  // namespace normlens::analysis
