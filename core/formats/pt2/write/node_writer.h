// Puts a Difference into the documents: new nodes, changed operands, results. Private to formats/pt2: includes torch.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <unordered_map>

#include "core/formats/pt2/write/difference.h"

namespace normlens::formats::pt2 {

class NodeWriter {
 public:
  using Value = torch::jit::Value;
  using Node = torch::jit::Node;

  NodeWriter(const Program& program, const Difference& difference, DocumentEditor& editor, torch::jit::Graph& edited);

  // A new attribute of the edited module is read under this name of the program's own graph.
  void addAttribute(const std::string& path, const std::string& placeholder) { attributes_[path] = placeholder; }
  // Throws EditRefused, BrokenDocument.
  void write();
  // After write(): what stands for values that are no longer made.
  [[nodiscard]] std::map<GraphName, std::string> renamed();

 private:
  // Chooses which graph of the document a new node belongs to: where its readers are.
  void chooseGraphs(torch::jit::Block& block);
  [[nodiscard]] std::optional<std::pair<int, int>> doesWorkOf(const Node& node) const;
  [[nodiscard]] int graphOfReader(const torch::jit::Use& use) const;
  [[nodiscard]] int graphAround(const torch::jit::Block* block) const;
  [[nodiscard]] int common(int a, int b) const;

  // New nodes, in order.
  void writeNew(torch::jit::Block& block);
  void writeNode(Node& node);
  [[nodiscard]] int placeIn(int graph) const;
  [[nodiscard]] Json metadataFor(const Node& node, int graph, int behind);

  // Changed reads.
  void writeRead(const Difference::Read& read);
  void writeOperand(const Difference::Read& read, const Origin& origin);
  void writeResult(const Difference::Read& read);

  // The name of a value in a graph, brought in from around where it is not there.
  std::string nameIn(const Value* value, int graph);
  Json argument(const Value* value, int graph, const c10::TypePtr& type);
  Json sizeArgument(const Node& size);
  Json listArgument(const Node& list, int graph, const c10::TypePtr& type);
  Json metaOf(const Value* value);
  [[nodiscard]] const Json* metaOfOriginal(const Value* original) const;
  [[nodiscard]] const Value* replacedBy(const Node& node) const;
  Json inputsOf(const Node& node, const c10::FunctionSchema& schema, int graph);
  Json outputsOf(const Node& node, const c10::FunctionSchema& schema, const std::string& name, int graph);
  [[nodiscard]] const Origin& originOf(int number) const;

  const Program& program_;
  const Translation& translation_;
  const Difference& difference_;
  DocumentEditor& editor_;
  torch::jit::Graph& edited_;
  std::map<std::string, std::string> attributes_;
  std::unordered_map<const Node*, int> graphOf_;              // of new nodes
  std::unordered_map<const Value*, std::string> newNames_;    // in those graphs
  std::unordered_map<const Value*, const Value*> standsFor_;  // replacement -> what it replaces
  std::map<std::pair<int, const Value*>, std::string> broughtIn_;
  std::pair<int, int> last_{0, -1};  // the document's node that was passed last
};

}  // namespace normlens::formats::pt2
