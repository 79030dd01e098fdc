#include "core/analysis/scales.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "core/ops/index_maps.h"

namespace normlens::analysis {

using graph::ConstantId;
using graph::Graph;
using graph::kNone;
using graph::kNoValue;
using graph::Node;
using graph::NodeId;
using graph::OpKind;
using graph::Shape;
using graph::ValueId;

namespace {

// A constant that only this chain of permutations reads, and the axis of it that `axis` of the chain's end is.
struct OwnConstant {
  ConstantId constant = kNone;
  int64_t axis = 0;
};

std::optional<OwnConstant> ownConstant(const Graph& graph, ValueId id, int64_t axis) {
  while (id != kNoValue) {
    const auto& value = graph.value(id);
    if (value.uses.size() != 1 || !value.opaqueReason.empty()) return std::nullopt;
    if (value.constant != kNone) {
      if (!graph.constant(value.constant).volatileReason.empty()) return std::nullopt;
      return OwnConstant{value.constant, axis};
    }
    if (value.producer == kNone) return std::nullopt;
    const Node& node = graph.node(value.producer);
    if (node.kind == OpKind::Permute) {
      const auto perm = graph::intsAttribute(node, "perm");
      if (!perm) return std::nullopt;
      axis = perm->at(static_cast<size_t>(axis));
    } else if (node.kind != OpKind::Identity) {
      return std::nullopt;
    }
    id = node.operands.at(0);
  }
  return std::nullopt;
}

// gamma varies along exactly one axis of `full`: that axis and the numbers.
struct Scale {
  int64_t axis = 0;
  std::vector<double> numbers;
};

std::optional<Scale> scaleAlongOneAxis(const Graph& graph, ValueId id, const Shape& full) {
  const auto& value = graph.value(id);
  if (value.constant == kNone || !value.opaqueReason.empty()) return std::nullopt;
  if (!graph.constant(value.constant).volatileReason.empty()) return std::nullopt;
  const auto& view = graph.constant(value.constant).view;
  if (!graph::isFloat(view.dtype) || view.shape.size() > full.size()) return std::nullopt;
  std::optional<Scale> found;
  for (size_t i = 0; i < view.shape.size(); ++i) {
    if (view.shape[i] == 1) continue;
    const size_t axis = i + full.size() - view.shape.size();
    if (found || view.shape[i] != full[axis]) return std::nullopt;
    found = Scale{static_cast<int64_t>(axis), {}};
  }
  if (!found) return std::nullopt;
  auto numbers = graph::toDoubles(view);
  if (!numbers) return std::nullopt;
  found->numbers = std::move(*numbers);
  return found;
}

class Absorber {
 public:
  explicit Absorber(const Graph& graph) : original_(graph), out_{graph, {}} {}

  AbsorbedScales run() {
    for (NodeId id = 0; id < static_cast<NodeId>(original_.nodes.size()); ++id) {
      const OpKind kind = original_.node(id).kind;
      if (kind != OpKind::Mul && kind != OpKind::Div) continue;
      if (!tryOperand(id, 0) && kind == OpKind::Mul) tryOperand(id, 1);
    }
    return std::move(out_);
  }

 private:
  bool tryOperand(NodeId id, size_t data) {
    const Node& node = original_.node(id);
    if (node.operands.size() != 2 || node.operands[data] == kNoValue || node.operands[1 - data] == kNoValue)
      return false;
    const Shape* shape = ops::shapeOf(original_, node.operands[data]);
    const Shape* outShape = ops::shapeOf(original_, node.outputs[0]);
    if (shape == nullptr || outShape == nullptr || *shape != *outShape) return false;
    // A product that changes the type cannot be left out.
    if (original_.value(node.operands[data]).dtype != original_.value(node.outputs[0]).dtype) return false;
    auto scale = scaleAlongOneAxis(original_, node.operands[1 - data], *shape);
    if (!scale) return false;
    if (node.kind == OpKind::Div) {
      for (double& number : scale->numbers) number = 1.0 / number;
    }
    if (!std::all_of(scale->numbers.begin(), scale->numbers.end(), [](double x) { return std::isfinite(x); }))
      return false;
    fold::AbsorbScale edit;
    edit.scaleNode = id;
    edit.dataOperand = static_cast<int>(data);
    if (!collect(node.operands[data], scale->axis, scale->numbers, edit)) return false;
    bypass(id, data);
    out_.edits.push_back(std::move(edit));
    return true;
  }

  // Walks up from the scale's data to the linear; every value on the way has one reader.
  bool collect(ValueId id, int64_t axis, const std::vector<double>& factor, fold::AbsorbScale& edit) const {
    while (id != kNoValue) {
      const auto& value = original_.value(id);
      if (value.uses.size() != 1 || value.producer == kNone || !value.opaqueReason.empty()) return false;
      const Node& node = original_.node(value.producer);
      const Shape* shape = ops::shapeOf(original_, id);
      if (shape == nullptr) return false;
      const auto last = static_cast<int64_t>(shape->size()) - 1;
      switch (node.kind) {
        case OpKind::Identity:
          break;
        case OpKind::Permute: {
          const auto perm = graph::intsAttribute(node, "perm");
          if (!perm) return false;
          axis = perm->at(static_cast<size_t>(axis));
          break;
        }
        case OpKind::Add: {
          // A bias of its own node: x W + b
          const bool biasSecond = original_.value(node.operands[1]).constant != kNone;
          const ValueId bias = node.operands[biasSecond ? 1 : 0];
          if (!broadcastPart(bias, last - axis, factor, edit)) return false;
          id = node.operands[biasSecond ? 0 : 1];
          // A bias that makes the result larger would make `axis` another one.
          if (id == kNoValue || original_.value(id).shape != value.shape) return false;
          continue;
        }
        case OpKind::Linear: {
          const Shape* w = ops::shapeOf(original_, node.operands[1]);
          return axis == last && w != nullptr && w->size() == 2 && part(node.operands[1], 0, factor, edit) &&
                 bias(node, 2, factor, edit);
        }
        case OpKind::MatMul: {
          const Shape* w = ops::shapeOf(original_, node.operands[1]);
          return axis == last && w != nullptr && w->size() == 2 && part(node.operands[1], 1, factor, edit);
        }
        case OpKind::AddMatMul: {
          const Shape* w = ops::shapeOf(original_, node.operands[2]);
          return axis == last && w != nullptr && w->size() == 2 && part(node.operands[2], 1, factor, edit) &&
                 bias(node, 0, factor, edit);
        }
        case OpKind::Conv:
          if (graph::boolAttribute(node, "transposed") ||
              shape->size() != ops::shapeOf(original_, node.operands[1])->size())
            return false;
          return axis == 1 && part(node.operands[1], 0, factor, edit) && bias(node, 2, factor, edit);
        default:
          return false;
      }
      id = node.operands[0];
    }
    return false;
  }

  // An absent bias is fine; one that is there has the channels last.
  bool bias(const Node& node, size_t operand, const std::vector<double>& factor, fold::AbsorbScale& edit) const {
    if (operand >= node.operands.size() || node.operands[operand] == kNoValue) return true;
    return broadcastPart(node.operands[operand], 0, factor, edit);
  }

  // The axis that is `fromLast` axes before the last one, as numpy broadcasting counts.
  bool broadcastPart(ValueId id, int64_t fromLast, const std::vector<double>& factor, fold::AbsorbScale& edit) const {
    const Shape* shape = ops::shapeOf(original_, id);
    return shape != nullptr && part(id, static_cast<int64_t>(shape->size()) - 1 - fromLast, factor, edit);
  }

  // `axis` of the constant itself.
  bool part(ValueId id, int64_t local, const std::vector<double>& factor, fold::AbsorbScale& edit) const {
    const Shape* shape = ops::shapeOf(original_, id);
    if (shape == nullptr) return false;
    const auto rank = static_cast<int64_t>(shape->size());
    if (local < 0 || local >= rank || (*shape)[static_cast<size_t>(local)] != static_cast<int64_t>(factor.size()))
      return false;
    const auto own = ownConstant(original_, id, local);
    if (!own) return false;
    edit.parts.push_back({own->constant, factor, {}, static_cast<int>(own->axis)});
    return true;
  }

  // Identity(data, scale): the scale stays an operand, so that a centering of it for other readers leaves this one
  // alone.
  void bypass(NodeId id, size_t data) {
    Node& node = out_.graph.nodes[static_cast<size_t>(id)];
    node.kind = OpKind::Identity;
    if (data == 0) return;
    std::swap(node.operands[0], node.operands[1]);
    for (const int place : {0, 1}) {
      for (graph::Use& use : out_.graph.values[static_cast<size_t>(node.operands[static_cast<size_t>(place)])].uses) {
        if (use.node == id) use.operand = place;
      }
    }
  }

  const Graph& original_;
  AbsorbedScales out_;
};

}  // namespace

AbsorbedScales absorbScales(const Graph& graph) { return Absorber(graph).run(); }

}  // namespace normlens::analysis
