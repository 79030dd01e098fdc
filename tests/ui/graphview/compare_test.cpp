// What differs between two graphs, as marks and as a list.
#include <gtest/gtest.h>

#include <map>

#include "ui/graphview/compare/change_list.h"

namespace normlens::graphview {
namespace {

using protocol::GraphDocument;

class Graph {
 public:
  Graph() { document_.scopes = {{0, "", "", "", -1}, {1, "ln", "ln", "LayerNorm", 0}}; }

  Graph& node(const char* op, const char* name, const char* role = "L", std::vector<int> inputs = {},
              std::vector<int> outputs = {}) {
    protocol::GraphNode made;
    made.id = static_cast<int>(document_.nodes.size());
    made.op = op;
    made.name = name;
    made.role = fromName<NodeClass>(role).value();
    made.scope = made.name == "ln" ? 1 : 0;
    made.inputs = std::move(inputs);
    made.outputs = std::move(outputs);
    document_.nodes.push_back(std::move(made));
    return *this;
  }
  // Value ids are their places.
  Graph& values(const std::vector<const char*>& names) {
    for (const char* name : names) {
      protocol::GraphValue value;
      value.id = static_cast<int>(document_.values.size());
      value.name = name;
      document_.values.push_back(std::move(value));
    }
    return *this;
  }
  operator const GraphDocument&() const { return document_; }  // NOLINT(google-explicit-constructor): it is one

 private:
  GraphDocument document_;
};

// One line for a change: what it is, the places, the pairs of weights ("=": the same, "~": that, through new ops).
std::vector<std::string> listed(const GraphDocument& a, const GraphDocument& b, const WeightTexts& weightsOfA = {},
                                const WeightTexts& weightsOfB = {}) {
  static constexpr const char* kKinds[] = {"rms", "op", "weight", "added", "removed"};
  std::vector<std::string> lines;
  for (const Change& change : changesOf(a, b, compareGraphs(a, b, weightsOfA, weightsOfB), weightsOfA, weightsOfB)) {
    std::string line = kKinds[static_cast<size_t>(change.kind)];
    line += " " + std::to_string(change.a) + " " + std::to_string(change.b);
    for (const WeightPair& pair : change.weights) {
      line += " " + std::to_string(pair.a) + (pair.through ? "~" : pair.same ? "=" : "/") + std::to_string(pair.b);
    }
    lines.push_back(line);
  }
  return lines;
}

using Lines = std::vector<std::string>;

// A centering counts at the node before it, the parts of a norm that is written out at the norm.
TEST(TimesInPlaces, WhatTheFoldAddsCountsAtItsPlace) {
  const Graph a = Graph().node("aten::linear", "l", "L", {0}, {1}).node("aten::layer_norm", "ln", "N", {1}, {2});
  const Graph b = Graph()
                      .node("aten::linear", "l", "L", {0}, {1})
                      .node("aten::mean", "", "O", {1}, {3})
                      .node("aten::sub", "", "O", {1, 3}, {4})
                      .node("aten::pow", "ln", "S", {4}, {5})
                      .node("aten::div", "ln", "M", {4, 5}, {2});
  std::map<int, double> sums;
  for (const auto& [node, ms] : timesInPlacesOf(a, b, {{0, 1}, {1, 2}, {2, 3}, {3, 4}, {4, 5}})) sums[node] += ms;
  EXPECT_EQ(sums, (std::map<int, double>{{0, 6}, {1, 9}}));
}

TEST(GraphDiff, nodesBelongTogetherByNameThenByOperator) {
  const Graph a = Graph().node("aten::linear", "fc").node("aten::layer_norm", "ln").node("aten::gelu", "");
  const Graph b =
      Graph().node("aten::linear", "fc").node("aten::mean", "ln").node("aten::rms_norm", "ln").node("aten::relu", "");
  const GraphDiff diff = compareGraphs(a, b);
  EXPECT_EQ(diff.a.partners, (std::vector<int>{0, 2, -1})) << "the norm went to the norm, not to what came before it";
  EXPECT_EQ(diff.b.partners, (std::vector<int>{0, -1, 1, -1}));
  EXPECT_EQ(diff.a.marks, (std::vector{NodeMark::Same, NodeMark::Changed, NodeMark::Only}));
  EXPECT_EQ(diff.b.marks, (std::vector{NodeMark::Same, NodeMark::Only, NodeMark::Changed, NodeMark::Only}));
}

TEST(GraphDiff, aLayerNormGoesToTheOpThatEndsAnRmsNorm) {
  const Graph a = Graph().node("aten::layer_norm", "ln", "N");
  const Graph b = Graph().node("aten::pow", "ln", "O").node("aten::mul", "ln", "M");
  EXPECT_EQ(compareGraphs(a, b).a.partners, (std::vector<int>{1}));
  EXPECT_EQ(listed(a, b), (Lines{"added -1 0", "rms 0 1"}));
}

TEST(GraphDiff, otherWeightsAreAChangeWhereBothSidesAreKnown) {
  const Graph a = Graph().values({"x", "w"}).node("aten::linear", "fc", "L", {0, 1});
  EXPECT_EQ(listed(a, a, {{1, "w"}}, {{1, "w"}}), Lines());
  EXPECT_EQ(listed(a, a, {{1, "w"}}, {{1, "w'"}}), Lines{"weight 0 0 1/1"});
  EXPECT_EQ(listed(a, a, {{1, "w"}}, {}), Lines()) << "nothing is known of the other's";
}

// TorchScript stores [out, in] and the bias in one node, ONNX [in, out] and an Add behind it.
TEST(GraphDiff, twoFormatsOfOneModelBelongTogetherByModulesAndContents) {
  const Graph a = Graph()
                      .values({"x", "q.weight", "q.bias", "y", "z"})
                      .node("aten::linear", "q", "L", {0, 1, 2}, {3})
                      .node("aten::softmax", "s", "O", {3}, {4});
  const Graph b = Graph()
                      .values({"x", "val_1", "q.bias", "p", "y", "z"})
                      .node("MatMul", "node_7", "L", {0, 1}, {3})
                      .node("Add", "node_8", "S", {3, 2}, {4})
                      .node("Softmax", "node_9", "O", {4}, {5});
  const WeightTexts ofA{{1, "w|t"}, {2, "b"}};
  EXPECT_EQ(listed(a, b, ofA, {{1, "t|w"}, {2, "b"}}), Lines());
  EXPECT_EQ(compareGraphs(a, b, ofA, {{1, "t|w"}, {2, "b"}}).b.partners, (std::vector<int>{0, 0, 1}));
  EXPECT_EQ(listed(a, b, ofA, {{1, "v|u"}, {2, "b"}}).size(), size_t{1}) << "another weight";
  EXPECT_TRUE(listed(a, b, ofA, {{1, "v|u"}, {2, "b"}})[0].starts_with("op 0 0"));
}

// The key is transposed once in one format, twice in the other; what one of them does not write belongs to what it
// follows.
TEST(GraphDiff, formatsThatSplitTheirNodesOtherwiseBelongTogetherByWhatTheyRead) {
  const Graph a = Graph()
                      .node("aten::linear", "q", "L", {0}, {1})
                      .node("aten::linear", "k", "L", {0}, {2})
                      .node("aten::transpose", "q", "S", {1}, {3})
                      .node("aten::transpose", "k", "S", {2}, {4})
                      .node("aten::transpose", "k", "S", {4}, {5})
                      .node("aten::matmul", "s", "L", {3, 5}, {6})
                      .node("aten::dropout", "s", "S", {6}, {7})
                      .node("aten::gelu", "g", "O", {7}, {8})
                      .node("x", "x", "I", {}, {0});
  const Graph b = Graph()
                      .node("MatMul", "n0", "L", {0}, {1})
                      .node("MatMul", "n1", "L", {0}, {2})
                      .node("Transpose", "n2", "S", {2}, {3})
                      .node("Transpose", "n3", "S", {1}, {4})
                      .node("MatMul", "n4", "L", {4, 3}, {5})
                      .node("Div", "n5", "S", {5}, {6})
                      .node("Erf", "n6", "O", {6}, {7})
                      .node("Mul", "n7", "S", {5, 7}, {8})
                      .node("input", "n8", "I", {}, {0});
  const GraphDiff diff = compareGraphs(a, b);
  EXPECT_EQ(diff.a.partners, (std::vector<int>{0, 1, 3, 2, 2, 4, 4, -1, 8}));
  EXPECT_EQ(diff.b.partners, (std::vector<int>{0, 1, 3, 2, 5, -1, -1, -1, 8}))
      << "a GELU that is written out stays alone";
  const Graph other = Graph().node("x", "x", "I", {}, {0}).node("aten::relu", "r", "O", {0}, {1});
  EXPECT_EQ(compareGraphs(other, b).a.partners, (std::vector<int>{8, -1})) << "a Relu is found nowhere in it";
}

TEST(GraphDiff, theOtherGraphHasTheShapesOfItsPartners) {
  GraphDocument a = Graph().values({"x", "y"}).node("aten::linear", "fc", "L", {0}, {1});
  a.values[1].shape = {2, 64};
  a.values[1].has_shape = a.values[1].stream = true;
  GraphDocument b = Graph().values({"y", "x"}).node("aten::linear", "fc", "L", {1}, {0});
  b.values[1].stream = true;
  const GraphDocument shaped = withShapesOf(a, b, compareGraphs(a, b));
  EXPECT_EQ(shaped.values[0].shape, (std::vector<int64_t>{2, 64}));
  EXPECT_TRUE(shaped.values[0].has_shape && shaped.values[0].stream);
  EXPECT_TRUE(shaped.values[1].stream && !shaped.values[1].has_shape) << "its own, and no partner's";
}

TEST(ChangeList, isInTheOrderInWhichNodesRun) {
  const Graph a = Graph().node("embedding", "wte").node("layer_norm", "ln", "N").node("gelu", "act", "O");
  const Graph b =
      Graph().node("embedding", "wte").node("sub", "mean", "A").node("rms_norm", "ln", "M").node("add", "end");
  EXPECT_EQ(listed(a, b), (Lines{"added -1 1", "rms 1 2", "added -1 3", "removed 2 -1"}));
}

TEST(ChangeList, hasARowForEachWeightAndOneForAWeightThatSeveralRead) {
  const Graph a = Graph()
                      .values({"x", "fc.weight", "fc.bias", "y"})
                      .node("linear", "fc", "L", {0, 1, 2})
                      .node("linear", "again", "L", {3, 1, 2});
  const WeightTexts before{{1, "w"}, {2, "b"}};
  EXPECT_EQ(listed(a, a, before, {{1, "w'"}, {2, "b'"}}), (Lines{"weight 0 0 1/1", "weight 0 0 2/2"}));
  EXPECT_EQ(listed(a, a, before, {{1, "w"}, {2, "b'"}}), (Lines{"weight 0 0 2/2"}));
}

TEST(ChangeList, tellsOfAReplacedNormWhichWeightsStay) {
  const Graph a = Graph().values({"x", "ln.weight", "ln.bias"}).node("layer_norm", "ln", "N", {0, 1, 2});
  const Graph b = Graph().values({"x", "ln.weight"}).node("rms_norm", "ln", "M", {0, 1});
  EXPECT_EQ(listed(a, b, {{1, "g"}, {2, "b"}}, {{1, "g"}}), Lines{"rms 0 0 1=1 2/-1"});
  const Graph shiftOnly = Graph().values({"x", "ln.bias"}).node("rms_norm", "ln", "M", {0, 1});
  EXPECT_EQ(listed(a, shiftOnly, {{1, "g"}, {2, "b"}}, {{1, "b"}}), Lines{"rms 0 0 1/-1 2=1"}) << "by name";
  const Graph other = Graph().node("group_norm", "ln", "O");
  EXPECT_EQ(listed(a, other), Lines{"op 0 0"});
}

TEST(ChangeList, aWeightThatOnlyOneSideHasIsARow) {
  const Graph a = Graph().values({"x", "fc.weight"}).node("linear", "fc", "L", {0, 1});
  const Graph b = Graph().values({"x", "fc.weight", "fc.bias"}).node("linear", "fc", "L", {0, 1, 2});
  EXPECT_EQ(listed(a, b, {{1, "w"}}, {{1, "w"}, {2, "b"}}), Lines{"weight 0 0 -1/2"});
  EXPECT_EQ(listed(b, a, {{1, "w"}, {2, "b"}}, {{1, "w"}}), Lines{"weight 0 0 2/-1"});
}

TEST(ChangeList, aWeightThatIsCenteredAtRunTimeIsNotGone) {
  const Graph a = Graph().values({"x", "pos", "y"}).node("add", "sum", "R", {0, 1}, {2});
  const Graph b = Graph()
                      .values({"x", "pos", "y", "mean", "centered", "other"})
                      .node("mean", "", "Z", {1}, {3})
                      .node("sub", "", "S", {1, 3}, {4})
                      .node("add", "sum", "R", {0, 4}, {2});
  EXPECT_EQ(listed(a, b, {{1, "p"}}, {{1, "p"}}), (Lines{"added -1 0 -1/1", "added -1 1 -1/1", "weight 0 2 1~1"}));
  EXPECT_EQ(listed(a, b, {{1, "p"}}, {{1, "q"}}), (Lines{"added -1 0 -1/1", "added -1 1 -1/1", "weight 0 2 1/-1"}))
      << "another weight";
  const Graph gone = Graph().values({"x", "pos", "y"}).node("add", "sum", "R", {0, 0}, {2});
  EXPECT_EQ(listed(a, gone, {{1, "p"}}, {{1, "p"}}), Lines{"weight 0 0 1/-1"});
}

}  // namespace
}  // namespace normlens::graphview
