#include "core/graph/repeated_blocks.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

namespace normlens::graph {
namespace {

// Grows a graph whose nodes read by number: -1 is the model's input.
class Writer {
 public:
  Writer() {
    Value input;
    input.name = "x";
    made_.push_back(graph.addParam(0, input));
  }
  // Returns what later nodes read it by.
  int node(const std::string& op, const std::vector<int>& reads) {
    Node node;
    node.op = op;
    for (const int read : reads) node.operands.push_back(made_[static_cast<size_t>(read)]);
    Value out;
    out.name = "v" + std::to_string(made_.size());
    const NodeId id = graph.addNode(std::move(node), {out});
    made_.push_back(graph.node(id).outputs.front());
    return static_cast<int>(made_.size()) - 1;
  }
  // norm -> linear -> gelu -> linear -> add: a pre-norm block on a stream.
  int preNorm(int stream) {
    int v = node("LayerNorm", {stream});
    v = node("Linear", {v});
    v = node("Gelu", {v});
    v = node("Linear", {v});
    return node("Add", {stream, v});
  }
  int chain(int from, int length, const std::string& op) {
    for (int i = 0; i < length; ++i) from = node(op + std::to_string(i), {from});
    return from;
  }

  Graph graph;

 private:
  std::vector<ValueId> made_;
};

// By path: how many nodes lie directly in it.
std::map<std::string, int> nodesByScope(const Graph& graph) {
  std::map<std::string, int> counts;
  for (const Node& node : graph.nodes) ++counts[graph.scope(node.scope).path];
  return counts;
}

size_t mostChildren(const Graph& graph) {
  std::map<ScopeId, size_t> counts;
  for (const Node& node : graph.nodes) ++counts[node.scope];
  for (const Scope& scope : graph.scopes) ++counts[scope.parent];
  size_t most = 0;
  for (const auto& [scope, count] : counts) most = std::max(most, count);
  return most;
}

TEST(RepeatedBlocks, EachLayerOfAStreamIsABlock) {
  Writer writer;
  int stream = writer.chain(0, 3, "Embed");
  for (int i = 0; i < 12; ++i) stream = writer.preNorm(stream);
  writer.chain(stream, 4, "Head");
  groupRepeatedBlocks(writer.graph);
  const auto counts = nodesByScope(writer.graph);
  EXPECT_EQ(counts.size(), 13U);
  EXPECT_EQ(counts.at(""), 7);
  for (int i = 0; i < 12; ++i) EXPECT_EQ(counts.at("block_" + std::to_string(i)), 5);
  // Cut on the stream, not within the branch beside it: a block begins with its norm.
  std::set<ScopeId> seen;
  for (const Node& node : writer.graph.nodes) {
    if (node.scope != 0 && seen.insert(node.scope).second) {
      EXPECT_EQ(node.op, "LayerNorm");
    }
  }
}

TEST(RepeatedBlocks, TwoKindsOfLayersAfterEachOther) {
  Writer writer;
  int stream = 0;
  for (int i = 0; i < 12; ++i) stream = writer.preNorm(stream);
  for (int i = 0; i < 12; ++i) stream = writer.chain(stream, 4, "Decode");
  groupRepeatedBlocks(writer.graph);
  const auto counts = nodesByScope(writer.graph);
  EXPECT_EQ(counts.size(), 24U);
  EXPECT_EQ(counts.at("block_0"), 5);
  EXPECT_EQ(counts.at("block_23"), 4);
}

TEST(RepeatedBlocks, BlocksWithinLongBlocks) {
  Writer writer;
  int stream = 0;
  for (int stage = 0; stage < 4; ++stage) {
    stream = writer.chain(stream, 2, "Down");
    for (int i = 0; i < 12; ++i) stream = writer.preNorm(stream);
  }
  groupRepeatedBlocks(writer.graph);
  const auto counts = nodesByScope(writer.graph);
  EXPECT_EQ(counts.count("block_3.block_11") + counts.count("block_3.block_10"), 2U);
  EXPECT_LE(mostChildren(writer.graph), 20U);
}

TEST(RepeatedBlocks, ThousandsOfSiblingsAreSplit) {
  Writer deep;
  int stream = 0;
  for (int i = 0; i < 2000; ++i) stream = deep.preNorm(stream);
  groupRepeatedBlocks(deep.graph);
  EXPECT_LE(mostChildren(deep.graph), 70U);

  Writer irregular;
  stream = 0;
  for (int i = 0; i < 3000; ++i) stream = irregular.node("Op" + std::to_string(i * i % 977), {stream});
  groupRepeatedBlocks(irregular.graph);
  EXPECT_LE(mostChildren(irregular.graph), 110U);
}

TEST(RepeatedBlocks, AGraphWithScopesOrWithFewNodesStays) {
  Writer small;
  int stream = 0;
  for (int i = 0; i < 8; ++i) stream = small.preNorm(stream);
  groupRepeatedBlocks(small.graph);
  EXPECT_EQ(small.graph.scopes.size(), 1U);

  Writer scoped;
  const ScopeId scope = scoped.graph.addScope(0, "encoder", "");
  stream = 0;
  for (int i = 0; i < 40; ++i) stream = scoped.preNorm(stream);
  for (size_t i = 0; i < 150; ++i) scoped.graph.nodes[i].scope = scope;
  groupRepeatedBlocks(scoped.graph);
  EXPECT_EQ(scoped.graph.scopes.size(), 2U);
}

}  // namespace
}  // namespace normlens::graph
