// The nodes that an edit makes for one place of the document: written onto a tape as torch's, put into the document as
// the file has them. Private to formats/pt2: includes torch.
#pragma once

#include <torch/csrc/jit/ir/ir.h>

#include <map>
#include <memory>
#include <string>
#include <unordered_map>

#include "core/formats/pt2/translate/program.h"
#include "core/formats/pt2/write/document_editor.h"

namespace normlens::formats::pt2 {

// A constant of a module as an argument of an exported program's node: {"as_int": 1} and its kin. `type`: what the
// operator's schema wants there, with the types that the dispatcher distinguishes (an element type is a number in
// TorchScript). Throws EditRefused for what has no form there.
[[nodiscard]] Json literalArgument(const c10::IValue& value, const c10::TypePtr& type);

class Tape {
 public:
  using Value = torch::jit::Value;
  using Node = torch::jit::Node;

  // `of`: the graph of the document that the nodes are for.
  Tape(const Translation& translation, DocumentEditor& editor, int of)
      : translation_(translation), editor_(editor), of_(of) {}

  [[nodiscard]] const std::shared_ptr<torch::jit::Graph>& graph() const { return graph_; }
  // A tensor of the document's graph. Throws EditRefused where it is one of another graph.
  [[nodiscard]] Value* tensor(const GraphName& value);
  // An argument of one of its nodes: a tensor, a number, a list of sizes. Throws EditRefused.
  [[nodiscard]] Value* read(const Json& argument);
  // One of its nodes.
  Node* add(const Json& node);

  // From now on the value takes the place of one of the document's graph.
  void standFor(Value* value, const std::string& name) { standsFor_[value] = name; }
  // Puts what is on the tape in front of a node of the document, or at the end. `like`: the node whose work they do.
  // Throws EditRefused, BrokenDocument.
  void insert(size_t before, const Json& like);
  // The same in the place of a node: the last one is in its stead.
  void replace(int node, const Json& like);
  // The value as a node's argument, and the tensor's name in the document; `type`: what the schema has there.
  [[nodiscard]] Json argument(const Value* value, const c10::TypePtr& type);
  [[nodiscard]] std::string nameOf(const Value* value) const;

 private:
  Value* named(const std::string& name, const c10::TypePtr& type);
  Value* size(const Json& symbol);
  std::vector<Json> written(const Json& like);
  Json nodeFor(const Node& node, const Json& metadata);
  Json inputsOf(const Node& node, const c10::FunctionSchema& schema);
  Json outputsOf(const Node& node, const c10::FunctionSchema& schema, const std::string& name);
  Json listArgument(const Node& list);
  Json sizeArgument(const Node& size);
  [[nodiscard]] Json metaOf(const Value* value) const;

  const Translation& translation_;
  DocumentEditor& editor_;
  int of_;
  std::shared_ptr<torch::jit::Graph> graph_ = std::make_shared<torch::jit::Graph>();
  std::map<std::string, Value*> inputs_;
  std::unordered_map<const Value*, std::string> names_;      // in the document
  std::unordered_map<const Value*, std::string> standsFor_;  // that of the value whose place it takes
};

}  // namespace normlens::formats::pt2
