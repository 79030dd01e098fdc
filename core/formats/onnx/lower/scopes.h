// Finds where a node belongs: the module path that exporters leave in node names and metadata. Private to formats/onnx.
//   torch.onnx (legacy)   node name "/encoder/layer.0/attention/self/Softmax"   -> encoder, layer, 0, attention, self
//   torch.onnx (dynamo)   metadata "pkg.torch.onnx.name_scopes"                 -> the same, with class names
//   Keras, TensorFlow     node name "model/dense/MatMul"                        -> model, dense
//   anything else         the scope around it; at the top, the deepest scope around all that reads it
#pragma once

#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/formats/onnx/source/onnx_source.h"
#include "core/graph/graph.h"

namespace normlens::formats::onnx {

struct ScopePart {
  std::string name;
  std::string type;  // class name; empty where the file has none
};

// Makes each scope once.
class ScopeReader {
 public:
  // nullopt: the node does not state it.
  std::optional<graph::ScopeId> scopeOf(const NodeProto& node, graph::ScopeId around, graph::Graph& graph);
  graph::ScopeId child(graph::ScopeId parent, const ScopePart& part, graph::Graph& graph);

 private:
  std::unordered_map<std::string, graph::ScopeId> known_;   // parent id, '\n', name
  std::unordered_map<std::string, graph::ScopeId> byNode_;  // scope around, '\n', where the node's name shows it is
};

// Nodes without a scope (kNone: exporters' passes add such) move to the deepest scope around all that reads them,
// unread ones to the deepest around all they read. Left at the top they would cut every group that they lie in between.
void placeUnscoped(graph::Graph& graph);

}  // namespace normlens::formats::onnx
