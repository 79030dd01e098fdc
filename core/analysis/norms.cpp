#include "core/analysis/norms.h"

#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <set>

#include "core/ops/index_maps.h"
#include "core/ops/rules.h"

namespace normlens::analysis {

using graph::Graph;
using graph::kNone;
using graph::kNoValue;
using graph::Node;
using graph::NodeId;
using graph::OpKind;
using graph::ValueId;

namespace {

// "aten::rsqrt_" and "Rsqrt" are both "rsqrt".
std::string functionName(const Node& node) {
  std::string name = node.op.substr(node.op.rfind(':') == std::string::npos ? 0 : node.op.rfind(':') + 1);
  while (!name.empty() && name.back() == '_') name.pop_back();
  std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return std::tolower(c); });
  return name;
}

const Node* producer(const Graph& graph, ValueId value) {
  if (value == kNoValue || graph.value(value).producer == kNone) return nullptr;
  return &graph.node(graph.value(value).producer);
}

std::optional<double> number(const Graph& graph, ValueId id) {
  if (id == kNoValue) return std::nullopt;
  const auto& value = graph.value(id);
  if (value.literal) return value.literal;
  if (value.constant == kNone || !graph.constant(value.constant).volatileReason.empty()) return std::nullopt;
  const auto& view = graph.constant(value.constant).view;
  if (graph::elementCount(view.shape) != 1) return std::nullopt;
  const auto numbers = graph::toDoubles(view);
  return numbers ? std::optional(numbers->front()) : std::nullopt;
}

std::vector<int64_t> trailingAxes(size_t rank, size_t count) {
  std::vector<int64_t> axes(count);
  std::iota(axes.begin(), axes.end(), static_cast<int64_t>(rank - count));
  return axes;
}

// Finds the norms written out as arithmetic. See the picture at LayerNorm.
class DecomposedMatcher {
 public:
  explicit DecomposedMatcher(const Graph& graph) : graph_(graph) {}

  // `end`: the Div or Mul that would end the norm.
  std::optional<LayerNorm> match(NodeId end) const {
    const Node& node = graph_.node(end);
    if (node.operands.size() != 2) return std::nullopt;
    if (node.kind == OpKind::Div) return matchParts(end, node.operands[0], node.operands[1], false);
    if (node.kind != OpKind::Mul) return std::nullopt;
    if (auto found = matchParts(end, node.operands[0], node.operands[1], true)) return found;
    return matchParts(end, node.operands[1], node.operands[0], true);
  }

 private:
  // centered / deviation, or centered * inverse deviation.
  std::optional<LayerNorm> matchParts(NodeId end, ValueId centered, ValueId scale, bool inverse) const {
    const Node* sub = producer(graph_, centered);
    if (sub == nullptr) return std::nullopt;
    const auto centering = ops::explicitCentering(graph_, *sub);
    if (!centering) return std::nullopt;
    LayerNorm norm;
    norm.form = NormForm::Decomposed;
    norm.node = end;
    norm.input = centering->input;
    norm.centered = centered;
    norm.output = graph_.node(end).outputs[0];
    std::set<NodeId> members{end, idOf(centered), idOf(sub->operands[1])};
    const auto variance = varianceOf(scale, inverse, norm, members);
    if (!variance || !isVariance(*variance, *centering, members)) return std::nullopt;
    const auto& shape = graph_.value(norm.input).shape;
    norm.axes = *graph::intsAttribute(*producer(graph_, sub->operands[1]), "axes");
    std::sort(norm.axes.begin(), norm.axes.end());
    if (norm.axes != trailingAxes(shape->size(), norm.axes.size())) return std::nullopt;
    for (const int64_t axis : norm.axes) norm.normalizedShape.push_back((*shape)[static_cast<size_t>(axis)]);
    norm.members.assign(members.begin(), members.end());
    return norm;
  }

  NodeId idOf(ValueId value) const { return graph_.value(value).producer; }

  // sqrt(v + eps), rsqrt(v + eps), pow(v + eps, +-0.5), 1 / sqrt(v + eps) -> v
  std::optional<ValueId> varianceOf(ValueId scale, bool inverse, LayerNorm& norm, std::set<NodeId>& members) const {
    const Node* root = producer(graph_, scale);
    if (root == nullptr) return std::nullopt;
    members.insert(idOf(scale));
    if (inverse && (functionName(*root) == "reciprocal" ||
                    (root->kind == OpKind::Div && number(graph_, root->operands[0]) == 1.0))) {
      const ValueId inner = root->kind == OpKind::Div ? root->operands[1] : root->operands[0];
      return varianceOf(inner, false, norm, members);
    }
    const std::string function = functionName(*root);
    const double power = inverse ? -0.5 : 0.5;
    const bool isRoot = function == (inverse ? "rsqrt" : "sqrt") ||
                        (function == "pow" && root->operands.size() > 1 && number(graph_, root->operands[1]) == power);
    if (!isRoot) return std::nullopt;
    const Node* add = producer(graph_, root->operands[0]);
    if (add == nullptr || add->kind != OpKind::Add || !ops::plainAlpha(*add)) return std::nullopt;
    members.insert(idOf(root->operands[0]));
    for (const size_t side : {size_t{0}, size_t{1}}) {
      const auto eps = number(graph_, add->operands[side]);
      if (!eps) continue;
      norm.eps = *eps;
      return add->operands[1 - side];
    }
    return std::nullopt;
  }

  // mean((x - mean)^2) over the same axes, or the biased variance of x itself.
  bool isVariance(ValueId value, const ops::ExplicitCentering& centering, std::set<NodeId>& members) const {
    const Node* reduce = producer(graph_, value);
    if (reduce == nullptr || reduce->kind != OpKind::Reduce || !graph::boolAttribute(*reduce, "keepdim")) return false;
    members.insert(idOf(value));
    const auto axes = graph::intsAttribute(*reduce, "axes");
    const auto* shape = ops::shapeOf(graph_, reduce->operands[0]);
    if (!axes || shape == nullptr || ops::Pattern::overAxes(*shape, *axes) != centering.pattern) return false;
    const auto op = graph::stringAttribute(*reduce, "op");
    if (op == "var") {
      return reduce->operands[0] == centering.input && !graph::boolAttribute(*reduce, "unbiased", true);
    }
    if (op != "mean") return false;
    const Node* square = producer(graph_, reduce->operands[0]);
    if (square == nullptr) return false;
    members.insert(idOf(reduce->operands[0]));
    const ValueId base = square->operands[0];
    const std::string function = functionName(*square);
    const bool squares =
        (square->kind == OpKind::Mul && square->operands[1] == base) || function == "square" ||
        (function == "pow" && square->operands.size() > 1 && number(graph_, square->operands[1]) == 2.0);
    const Node* sub = producer(graph_, base);
    if (!squares || sub == nullptr) return false;
    const auto again = ops::explicitCentering(graph_, *sub);
    if (!again || again->input != centering.input || again->pattern != centering.pattern) return false;
    members.insert({idOf(base), idOf(sub->operands[1])});
    return true;
  }

  const Graph& graph_;
};

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
  const DecomposedMatcher matcher(graph);
  for (const NodeId id : graph.executionOrder()) {
    const Node& node = graph.node(id);
    std::optional<LayerNorm> norm;
    if (node.kind == OpKind::LayerNorm) {
      norm = fromOp(graph, id);
    } else if (node.kind == OpKind::Div || node.kind == OpKind::Mul) {
      norm = matcher.match(id);
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
