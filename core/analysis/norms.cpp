#include "core/analysis/norms.h"

#include <array>
#include <map>

#include "core/analysis/decomposed_norm.h"
#include "core/ops/index_maps.h"

namespace normlens::analysis {

using graph::Graph;
using graph::kNoValue;
using graph::Node;
using graph::NodeId;
using graph::OpKind;
using graph::ValueId;

namespace {

LayerNorm fromOp(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  const auto operand = [&](size_t i) { return i < node.operands.size() ? node.operands[i] : kNoValue; };
  LayerNorm norm;
  if (graph::boolAttribute(node, "fused")) norm.form = NormForm::Fused;
  norm.node = id;
  norm.members = {id};
  norm.input = node.operands.at(0);
  norm.output = node.outputs.at(0);
  norm.gamma = operand(1);
  norm.beta = operand(2);
  norm.eps = graph::floatAttribute(node, "eps").value_or(0);
  norm.axes = graph::intsAttribute(node, "axes").value_or(std::vector<int64_t>{});
  if (const auto* shape = ops::shapeOf(graph, norm.input)) {
    for (const int64_t axis : norm.axes) norm.normalizedShape.push_back(shape->at(static_cast<size_t>(axis)));
  }
  for (size_t i = 1; i < node.outputs.size(); ++i) {
    if (!graph.value(node.outputs[i]).uses.empty())
      norm.blockedReason = "its mean or inverse deviation is used elsewhere";
  }
  return norm;
}

std::optional<std::string_view> otherNormKind(OpKind kind) {
  switch (kind) {
    case OpKind::GroupNorm:
      return "GroupNorm";
    case OpKind::InstanceNorm:
      return "InstanceNorm";
    case OpKind::BatchNorm:
      return "BatchNorm";
    case OpKind::RmsNorm:
      return "RMSNorm";
    default:
      return std::nullopt;
  }
}

// Module path or node name where it is unique, with a number behind it otherwise; op#k where there is none.
class Names {
 public:
  std::string give(const std::string& wanted) {
    const int count = ++seen_[wanted];
    if (wanted.empty()) return "op#" + std::to_string(count - 1);
    return count == 1 ? wanted : wanted + "#" + std::to_string(count - 1);
  }

 private:
  std::map<std::string, int> seen_;
};

}  // namespace

std::string_view normFormName(NormForm form) {
  constexpr std::array<std::string_view, 3> kNames = {"op", "decomposed", "fused"};
  return kNames.at(static_cast<size_t>(form));
}

Norms findNorms(const Graph& graph) {
  Norms out;
  Names names;
  for (const NodeId id : graph.executionOrder()) {
    const Node& node = graph.node(id);
    std::optional<LayerNorm> norm;
    if (node.kind == OpKind::LayerNorm) {
      norm = fromOp(graph, id);
    } else if (node.kind == OpKind::Div || node.kind == OpKind::Mul) {
      norm = matchDecomposedNorm(graph, id);
    } else if (const auto kind = otherNormKind(node.kind)) {
      out.others.push_back({names.give(node.name), std::string(*kind), id});
    }
    if (!norm) continue;
    norm->name = names.give(node.name);
    norm->index = static_cast<int>(out.layerNorms.size());
    out.layerNorms.push_back(std::move(*norm));
  }
  return out;
}

}  // namespace normlens::analysis
