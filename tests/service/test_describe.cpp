#include <gtest/gtest.h>

#include "core/service/describe/describe.h"
#include "core/service/describe/graph_document.h"
#include "tests/support/graph_text.h"

namespace normlens::service {
namespace {

protocol::Analysis described(const std::string& text, const std::string& probeError) {
  const auto graph = graph::parsed(text);
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
  EXPECT_EQ(analysis.norms.at(0).verdict, Verdict::Unknown);
  EXPECT_EQ(analysis.totals.blocked, 0);
  EXPECT_EQ(inWords(analysis.totals), "1 LayerNorm, 0 free, 0 with centering, 0 blocked, 1 unknown");
}

// As the Annotated Transformer and others write them.
TEST(Describe, NormsByAnotherFormulaAreNamedWithWhatHinders) {
  const auto kindOf = [](const std::string& spread, const std::string& shape = "[2, 8]") {
    const auto analysis = described(R"(graph {
      input %x: float32[2, 8]
      const %g: float32[8] random 1
      %m: float32[2, 1] = Reduce(%x) {op = "mean", axes = [1], keepdim = true}
      %c: float32[2, 8] = Sub(%x, %m)
      %s: float32[2, 8] = Mul(%g, %c)
      )" + spread + R"(
      %n: float32)" + shape + R"( = Div(%s, %d)
      return %n
    })",
                                    "");
    EXPECT_EQ(analysis.totals.layer_norms, 0);
    return analysis.other_norms.empty() ? std::string() : analysis.other_norms[0].kind;
  };
  const std::string unbiased =
      R"(%v: float32[2, 1] = Reduce(%x) {op = "std", axes = [1], keepdim = true, unbiased = true}
      %d: float32[2, 1] = Add(%v, 1e-06))";
  EXPECT_EQ(kindOf(unbiased),
            "a LayerNorm by another formula, kept: what it divides by is not the root of a LayerNorm's variance plus "
            "eps, though its mean could be dropped exactly");
  EXPECT_EQ(kindOf(R"(%q: float32[2, 8] = Mul(%c, %c)
      %d: float32[1, 1] = Reduce(%q) {op = "mean", axes = [0, 1], keepdim = true})"),
            kindOf(unbiased));
  EXPECT_EQ(kindOf("%d: float32[2, 1] = Elementwise(%m)"), "");
  EXPECT_EQ(kindOf(unbiased, ""), "");  // without shapes it may be a LayerNorm that is not seen
}

TEST(GraphDocument, rolesStreamsAndEnds) {
  const auto graph = graph::parsed(R"(graph {
    input %x: float32[2, 8]
    const %w: float32[8, 8] random 1
    const %b: float32[8] random 2
    %n: float32[2, 8] = LayerNorm(%x, _, _) {axes = [1], eps = 1e-05} op "aten::layer_norm" scope "block.ln"
    %f: float32[2, 8] = Linear(%n, %w, _) op "aten::linear"
    %fb: float32[2, 8] = Add(%f, %b) op "aten::add"
    %r: float32[2, 8] = Add(%x, %fb) op "aten::add"
    return %r
  })");
  const auto document = graphDocument(graph, analysis::findNorms(graph));
  std::string roles;
  for (const auto& node : document.nodes) roles += letterOf(node.role);
  EXPECT_EQ(roles, "NLSRIG");
  EXPECT_EQ(document.nodes[0].label, "layer_norm");
  EXPECT_EQ(document.nodes[0].norm, 0);
  std::vector<std::string> streams;
  for (const auto& value : document.values) {
    if (value.stream) streams.push_back(value.name);
  }
  EXPECT_EQ(streams, (std::vector<std::string>{"x", "r"}));
  EXPECT_EQ(document.scopes.size(), 3U);
  EXPECT_EQ(document.scopes[2].path, "block.ln");
}

TEST(GraphDocument, outputsHaveTheNamesOfTheFile) {
  auto graph = graph::parsed("graph {\n  input %x: float32[2]\n  return %x, %x\n}");
  EXPECT_EQ(graphDocument(graph, {}).nodes.back().label, "output 1");
  graph.outputNames = {"logits", "hidden"};
  EXPECT_EQ(graphDocument(graph, {}).nodes.back().label, "hidden");
  graph.outputNames = {"logits", ""};
  EXPECT_EQ(graphDocument(graph, {}).nodes.back().label, "output 1") << "not all have one";
}

}  // namespace
}  // namespace normlens::service
