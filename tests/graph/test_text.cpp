#include <gtest/gtest.h>

#include <algorithm>

#include "core/graph/debug_check.h"
#include "tests/support/graph_text.h"
#include "tests/support/must.h"

namespace normlens::graph {
namespace {

constexpr const char* kModel = R"(
graph {
  input %x: float32[2, 5, 8] declared [-1, 5, 8]
  input %flag: bool declared []
  const %w: float32[8, 8] random 1
  const %b: float32[8] values <1, 2, 3, 4, 5, 6, 7, 8> volatile "the model writes it" declared [-1]
  %s: float32[2, 5, 8] = Elementwise(%x, 2) function Power op "aten::pow"
  %c: bool = Elementwise(%s, 0.5) op "aten::gt" helper
  %h: float32[2, 5, 8] = Linear(%x, %w, %b) op "aten::linear" name "fc" scope "block.fc"
  %y: float32[2, 5, 8] = If(%c)
  block () {
    %n: float32[2, 5, 8] = LayerNorm(%h, _, _) {axes = [2], eps = 1e-05} op "aten::layer_norm"
    return %n
  }
  block () {
    return %h
  }
  return %y, %h
}
)";

TEST(GraphText, roundTrips) {
  const auto graph = must(parseGraph(kModel));
  const std::string text = printGraph(graph);
  const auto again = parseGraph(text);
  ASSERT_TRUE(again) << again.error().message << "\n" << text;
  EXPECT_EQ(printGraph(*again), text);
  EXPECT_EQ(again->nodes.size(), 5U);
  EXPECT_EQ(again->nodes[0].function, Function::Power);
  EXPECT_EQ(again->nodes[1].function, Function::Other);
  EXPECT_EQ(again->blocks.size(), 3U);
  EXPECT_EQ(again->constants[1].volatileReason, "the model writes it");
  EXPECT_EQ(again->scope(again->nodes[2].scope).path, "block.fc");
  EXPECT_EQ(floatAttribute(again->nodes[4], "eps"), 1e-05);
  EXPECT_EQ(again->value(again->inputs()[0]).declared, (Shape{-1, 5, 8}));
  EXPECT_EQ(again->value(again->inputs()[1]).declared, Shape{});
  const auto constant = [&](std::string_view name) {
    return std::ranges::find(again->values, name, &Value::name)->declared;
  };
  EXPECT_EQ(constant("w"), std::nullopt);
  EXPECT_EQ(constant("b"), Shape{-1});
}

TEST(GraphText, nestedBlocksRunWhereTheirOwnerStands) {
  const auto graph = must(parseGraph(kModel));
  std::vector<OpKind> kinds;
  for (const NodeId id : graph.executionOrder()) kinds.push_back(graph.node(id).kind);
  EXPECT_EQ(kinds,
            (std::vector{OpKind::Elementwise, OpKind::Elementwise, OpKind::Linear, OpKind::If, OpKind::LayerNorm}));
}

struct BadText {
  const char* name;
  const char* text;
  const char* expected;
};

class GraphTextErrors : public testing::TestWithParam<BadText> {};

TEST_P(GraphTextErrors, namesLineAndCause) {
  EXPECT_PRED2(contains, failureOf(parseGraph(GetParam().text)).message, GetParam().expected);
}

INSTANTIATE_TEST_SUITE_P(
    All, GraphTextErrors,
    testing::Values(BadText{"unknown", "graph {\n  %y: ? = Neg(%x)\n  return %y\n}", "line 2: %x is not made"},
                    BadText{"kind", "graph {\n  input %x: ?\n  %y: ? = Wobble(%x)\n  return %y\n}",
                            "no op kind 'Wobble'"},
                    BadText{"function", "graph {\n  input %x: ?\n  %y: ? = Neg(%x) function wobble\n  return %y\n}",
                            "no function 'wobble'"},
                    BadText{"twice", "graph {\n  input %x: ?\n  input %x: ?\n  return %x\n}", "made twice"},
                    BadText{"count", "graph {\n  const %c: float32[3] values <1, 2>\n  return %c\n}", "wrong number"},
                    BadText{"end", "graph {\n  input %x: ?\n  return %x\n", "expected '}'"}),
    [](const auto& row) { return row.param.name; });

TEST(GraphCheck, findsABrokenUse) {
  auto graph = must(parseGraph(kModel));
  graph.values[static_cast<size_t>(graph.inputs()[0])].uses.pop_back();
  EXPECT_FALSE(checkGraph(graph));
}

TEST(GraphCheck, aPassThatBreaksItsGraphIsNamedInDebugBuilds) {
  auto graph = must(parseGraph(kModel));
  EXPECT_NO_THROW(requireSound(graph, "the parser"));
  graph.nodes.front().operands.clear();  // the uses of its operands stay
  if constexpr (kDebugChecks) {
    EXPECT_THROW(requireSound(graph, "a pass"), std::logic_error);
  } else {
    EXPECT_NO_THROW(requireSound(graph, "a pass"));
  }
}

}  // namespace
}  // namespace normlens::graph
