#include "core/run/proof/deciding_values.h"

namespace normlens::run {
namespace {

using graph::Graph;
using graph::OpKind;
using graph::ValueId;

bool holdsFloats(const graph::Value& value) {
  return graph::isFloat(value.dtype) && value.shape && graph::elementCount(*value.shape).value_or(0) > 0;
}

class Search {
 public:
  explicit Search(const Graph& graph) : graph_(graph), seen_(graph.values.size()) {}

  void startAt(ValueId value) {
    visit(value);
    while (!open_.empty()) {
      const ValueId next = open_.back();
      open_.pop_back();
      goBack(graph_.value(next));
    }
  }

  [[nodiscard]] std::vector<ValueId> found() const {
    std::vector<ValueId> values;
    for (size_t v = 0; v < seen_.size(); ++v) {
      const auto id = static_cast<ValueId>(v);
      if (seen_[v] && graph_.value(id).producer != graph::kNone && holdsFloats(graph_.value(id))) values.push_back(id);
    }
    return values;
  }

 private:
  void visit(ValueId value) {
    if (value == graph::kNoValue || seen_[static_cast<size_t>(value)]) return;
    seen_[static_cast<size_t>(value)] = true;
    if (!holdsFloats(graph_.value(value))) open_.push_back(value);
  }

  void goBack(const graph::Value& value) {
    if (value.paramOf != graph::kNone) return goOut(graph_.block(value.paramOf).owner);
    if (value.producer == graph::kNone) return;
    const graph::Node& node = graph_.node(value.producer);
    if (node.kind == OpKind::ShapeQuery) return;
    for (const ValueId operand : node.operands) visit(operand);
    for (const graph::BlockId block : node.blocks) {
      for (const ValueId returned : graph_.block(block).returns) visit(returned);
    }
  }

  void goOut(graph::NodeId owner) {
    if (owner == graph::kNone) return;
    for (const ValueId operand : graph_.node(owner).operands) visit(operand);
  }

  const Graph& graph_;
  std::vector<bool> seen_;
  std::vector<ValueId> open_;
};

}  // namespace

std::vector<ValueId> decidingValues(const Graph& graph) {
  Search search(graph);
  for (const ValueId output : graph.outputs()) {
    if (!holdsFloats(graph.value(output))) search.startAt(output);
  }
  return search.found();
}

}  // namespace normlens::run
