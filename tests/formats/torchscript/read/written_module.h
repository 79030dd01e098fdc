// Modules written in a test, and whether their graph says what they do.
#pragma once

#include "tests/formats/torchscript/torchscript_fixture.h"
#include "tests/support/graph_text.h"

namespace normlens::formats::torchscript::test {

using graph::OpKind;

inline const graph::Node& node(const TorchScriptModel& model, const std::string& op, int k = 0) {
  return model.graph().node(nodeOf(model.graph(), op, k));
}

inline int countKind(const graph::Graph& graph, OpKind kind) {
  return static_cast<int>(std::ranges::count_if(graph.nodes, [&](const graph::Node& n) { return n.kind == kind; }));
}

// The interpreter's outputs, the graph's returns and torch's own forward agree; the graph is sound.
inline void expectFaithful(const TorchScriptModel& model, const std::vector<at::Tensor>& inputs) {
  const auto sound = graph::checkGraph(model.graph());
  ASSERT_TRUE(sound) << sound.error().message << graph::printGraph(model.graph());
  Tensors given;
  for (size_t i = 0; i < inputs.size(); ++i) given.push_back({"in_" + std::to_string(i), viewOf(inputs[i])});
  const auto wanted = model.run(given, {});
  ASSERT_TRUE(wanted) << wanted.error().message;
  const auto seen = model.runCapturing(given, model.graph().outputs(), {});
  ASSERT_TRUE(seen) << seen.error().message;
  ASSERT_EQ(wanted->size(), seen->size());
  for (size_t i = 0; i < wanted->size(); ++i)
    EXPECT_TRUE(at::equal(tensorOf((*wanted)[i].view), tensorOf((*seen)[i].view))) << i;
}

}  // namespace normlens::formats::torchscript::test
