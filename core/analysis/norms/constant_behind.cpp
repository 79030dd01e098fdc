#include "core/analysis/norms/constant_behind.h"

#include "core/analysis/graph_names.h"
#include "core/analysis/norms/written_nodes.h"

namespace normlens::analysis {
namespace {

bool hasWrittenSizes(const Node& view) {
  if (view.function == graph::Function::Unsqueeze) return graph::intAttribute(view, "dim").has_value();
  return graph::intsAttribute(view, "size") || graph::intsAttribute(view, "shape");
}

}  // namespace

ValueId constantInView(const Graph& graph, ValueId id) {
  while (id != kNoValue && graph.value(id).opaqueReason.empty()) {
    const auto& value = graph.value(id);
    if (value.constant != kNone) return graph.constant(value.constant).volatileReason.empty() ? id : kNoValue;
    const Node* node = producerOf(graph, id);
    if (node == nullptr) break;
    if (node->kind != OpKind::Identity && !(node->kind == OpKind::Reshape && hasWrittenSizes(*node))) break;
    id = node->operands[0];
  }
  return kNoValue;
}

std::optional<ConstantBehind> constantBehind(const Graph& graph, const graph::Use& operand, int64_t axis) {
  ConstantBehind found{kNone, axis, operand, true};
  while (true) {
    const Node& reader = graph.node(found.use.node);
    const auto id = reader.operands.at(static_cast<size_t>(found.use.operand));
    if (id == kNoValue || !graph.value(id).opaqueReason.empty()) return std::nullopt;
    const auto& value = graph.value(id);
    found.soleReader = found.soleReader && value.uses.size() == 1;
    if (value.constant != kNone) {
      if (!graph.constant(value.constant).volatileReason.empty()) return std::nullopt;
      found.constant = value.constant;
      return found;
    }
    if (value.producer == kNone) return std::nullopt;
    const Node& node = graph.node(value.producer);
    if (node.kind == OpKind::Permute) {
      const auto perm = graph::intsAttribute(node, "perm");
      if (!perm) return std::nullopt;
      found.axis = perm->at(static_cast<size_t>(found.axis));
    } else if (node.kind != OpKind::Identity) {
      return std::nullopt;
    }
    found.use = {value.producer, 0, kNone};
  }
}

}  // namespace normlens::analysis
