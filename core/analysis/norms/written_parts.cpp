#include "core/analysis/norms/written_parts.h"

#include <algorithm>
#include <cmath>

#include "core/analysis/norms/norm_tail.h"
#include "core/analysis/norms/norms.h"
#include "core/ops/index_maps.h"
#include "core/ops/rules.h"

namespace normlens::analysis {

using graph::Function;
using graph::Graph;
using graph::kNone;
using graph::kNoValue;
using graph::Node;
using graph::NodeId;
using graph::OpKind;
using graph::Shape;
using graph::ValueId;

namespace {

bool isImage(const Shape& shape) { return shape.size() == 4; }

std::optional<std::vector<int64_t>> sortedAxes(const Node& reduce) {
  auto axes = graph::intsAttribute(reduce, "axes");
  if (axes) std::sort(axes->begin(), axes->end());
  return axes;
}

bool isScaling(const Node& node) {
  return (node.kind == OpKind::Mul || node.kind == OpKind::Div) && node.operands.size() == 2;
}

}  // namespace

const Node* producerOf(const Graph& graph, ValueId value) {
  if (value == kNoValue || graph.value(value).producer == kNone) return nullptr;
  return &graph.node(graph.value(value).producer);
}

std::optional<double> numberOf(const Graph& graph, ValueId value) {
  if (value == kNoValue) return std::nullopt;
  const auto& held = graph.value(value);
  if (held.literal) return held.literal;
  if (held.constant == kNone || !graph.constant(held.constant).volatileReason.empty()) return std::nullopt;
  const auto& view = graph.constant(held.constant).view;
  if (graph::elementCount(view.shape) != 1) return std::nullopt;
  const auto numbers = graph::toDoubles(view);
  return numbers ? std::optional(numbers->front()) : std::nullopt;
}

size_t besideFactor(const Graph& graph, const Node& node) {
  return node.kind == OpKind::Mul && numberOf(graph, node.operands.at(0)) ? 1 : 0;
}

ValueId squareBase(const Graph& graph, const Node& node) {
  const bool squares =
      (node.kind == OpKind::Mul && node.operands.size() == 2 && node.operands[0] == node.operands[1]) ||
      node.function == Function::Square ||
      (node.function == Function::Power && node.operands.size() > 1 && numberOf(graph, node.operands[1]) == 2.0);
  return squares ? graph::operandAt(node, 0) : kNoValue;
}

bool isView(const Node& node) {
  return node.kind == OpKind::Reshape || node.kind == OpKind::Expand || node.kind == OpKind::Identity;
}

bool WrittenParts::setGroups(const Node& reduce) {
  const Shape* shape = ops::shapeOf(graph_, graph::operandAt(reduce, 0));
  auto axes = sortedAxes(reduce);
  if (shape == nullptr || !axes || axes->empty()) return false;
  const bool channels = isImage(*shape) && *axes == std::vector<int64_t>{1};
  if (!channels && !areLastAxes(*axes, shape->size())) return false;
  axes_ = std::move(*axes);
  full_ = *shape;
  kept_ = *shape;
  normalizedShape_.clear();
  for (const int64_t axis : axes_) {
    normalizedShape_.push_back(full_[static_cast<size_t>(axis)]);
    kept_[static_cast<size_t>(axis)] = 1;
  }
  return true;
}

ValueId WrittenParts::behindViews(ValueId value) {
  for (const Node* node = producerOf(graph_, value); node != nullptr && isView(*node);
       node = producerOf(graph_, value)) {
    const Shape* from = ops::shapeOf(graph_, node->operands.at(0));
    const Shape* to = ops::shapeOf(graph_, value);
    if (from == nullptr || to == nullptr) break;
    const bool repeats = *from == kept_ && (*to == kept_ || *to == full_);
    const bool reshapes = node->kind == OpKind::Reshape && graph::elementCount(*from) == graph::elementCount(kept_);
    if (!repeats && !reshapes && *from != *to) break;
    addMember(value);
    value = node->operands[0];
  }
  return value;
}

bool WrittenParts::meetsInput(ValueId value) const {
  const Shape* shape = ops::shapeOf(graph_, value);
  return shape != nullptr && (*shape == kept_ || *shape == full_);
}

bool WrittenParts::isMeanOf(ValueId value, ValueId of) {
  const ValueId inner = behindViews(value);
  const Node* node = producerOf(graph_, inner);
  if (node == nullptr) return false;
  if (node->kind == OpKind::Reduce) return isReduction(inner, of, "mean");
  if (!isScaling(*node)) return false;
  const size_t data = besideFactor(graph_, *node);
  const auto factor = numberOf(graph_, node->operands[1 - data]);
  if (!factor) return false;
  const auto count = static_cast<double>(graph::elementCount(normalizedShape_).value_or(0));
  const double ratio = node->kind == OpKind::Mul ? *factor * count : count / *factor;
  constexpr double kRounding = 1e-6;  // of 1/n in float32
  if (!(std::abs(ratio - 1) < kRounding)) return false;
  if (ratio != 1) rounded_ = "it takes its means with a rounded 1/" + std::to_string(std::llround(count));
  addMember(inner);
  return isReduction(behindViews(node->operands[data]), of, "sum");
}

bool WrittenParts::isReduction(ValueId value, ValueId of, std::string_view wanted) {
  const Node* reduce = producerOf(graph_, value);
  if (reduce == nullptr || reduce->kind != OpKind::Reduce || reduce->operands.at(0) != of) return false;
  const auto axes = sortedAxes(*reduce);
  if (!axes || graph::stringAttribute(*reduce, "op") != wanted) return false;
  addMember(value);
  return *axes == axes_;
}

ValueId WrittenParts::reducedBehind(ValueId value) {
  const Node* node = producerOf(graph_, behindViews(value));
  if (node != nullptr && isScaling(*node)) {
    node = producerOf(graph_, behindViews(node->operands[besideFactor(graph_, *node)]));
  }
  return node == nullptr || node->kind != OpKind::Reduce ? kNoValue : graph::operandAt(*node, 0);
}

ValueId WrittenParts::withoutGamma(ValueId scale) {
  const Node* node = producerOf(graph_, scale);
  if (node == nullptr || node->kind != OpKind::Mul || node->operands.size() != 2) return kNoValue;
  for (const size_t gamma : {size_t{0}, size_t{1}}) {
    if (!isOfConstants(graph_, node->operands[gamma])) continue;
    addMember(scale);
    return node->operands[1 - gamma];
  }
  return kNoValue;
}

std::optional<ValueId> WrittenParts::radicand(ValueId root, bool inverse) {
  const ValueId scale = behindViews(root);
  const Node* node = producerOf(graph_, scale);
  if (node == nullptr) return std::nullopt;
  addMember(scale);
  if (inverse && (node->function == Function::Reciprocal ||
                  (node->kind == OpKind::Div && numberOf(graph_, node->operands[0]) == 1.0))) {
    return radicand(node->kind == OpKind::Div ? node->operands[1] : node->operands[0], false);
  }
  const double power = inverse ? -0.5 : 0.5;
  const bool isRoot =
      node->function == (inverse ? Function::InverseSquareRoot : Function::SquareRoot) ||
      (node->function == Function::Power && node->operands.size() > 1 && numberOf(graph_, node->operands[1]) == power);
  if (!isRoot) return std::nullopt;
  const ValueId sum = behindViews(node->operands[0]);
  const Node* add = producerOf(graph_, sum);
  if (add == nullptr || add->kind != OpKind::Add || !ops::plainAlpha(*add)) return std::nullopt;
  addMember(sum);
  for (const size_t side : {size_t{0}, size_t{1}}) {
    const auto eps = numberOf(graph_, add->operands[side]);
    if (!eps) continue;
    eps_ = *eps;
    return add->operands[1 - side];
  }
  return std::nullopt;
}

}  // namespace normlens::analysis
