// Concat and Stack.
#include <algorithm>

#include "core/ops/axis_size.h"
#include "core/ops/axis_view.h"
#include "core/ops/rule_sets.h"
#include "core/ops/size_question.h"

namespace normlens::ops {
namespace {

// Every position stands for itself: it does not matter where an operand begins.
bool eachByItself(const Factors& axis) {
  return std::ranges::all_of(axis, [](const Factor& factor) { return factor.whole() && !factor.summed; });
}

// x W + b, however a format writes it: Linear(x, W, b), MatMul(x, W), AddMatMul(b, x, W) or MatMul(x, W) + b.
struct LinearForm {
  ValueId input = kNoValue;
  ValueId weight = kNoValue;
  int64_t outputAxis = 0;   // The weight's, which has two.
  ValueId bias = kNoValue;  // Has as many elements as that axis.
};

// The producer of a value that nothing else reads.
const Node* soleProducer(const Graph& graph, ValueId value) {
  const auto& made = graph.value(value);
  const bool sole = made.producer != graph::kNone && made.uses.size() == 1 && made.opaqueReason.empty();
  return sole ? &graph.node(made.producer) : nullptr;
}

// Constants that only this linear reads, of the shapes that a linear's have.
bool ownConstants(const Graph& graph, const LinearForm& form) {
  const auto own = [&](ValueId id) {
    return graph.value(id).constant != graph::kNone && graph.value(id).uses.size() == 1;
  };
  const Shape* weight = shapeOf(graph, form.weight);
  if (weight == nullptr || weight->size() != 2 || !own(form.weight)) return false;
  if (form.bias == kNoValue) return true;
  const Shape* bias = shapeOf(graph, form.bias);
  return bias != nullptr && bias->size() == 1 && own(form.bias) &&
         bias->front() == (*weight)[static_cast<size_t>(form.outputAxis)];
}

std::optional<LinearForm> linearForm(const Graph& graph, ValueId value) {
  const Node* node = soleProducer(graph, value);
  if (node == nullptr) return std::nullopt;
  LinearForm form;
  const auto operand = [&](size_t i) { return i < node->operands.size() ? node->operands[i] : kNoValue; };
  if (node->kind == OpKind::Linear) {
    form = {operand(0), operand(1), 0, operand(2)};
  } else if (node->kind == OpKind::AddMatMul) {
    if (!plainAlpha(*node) || !plainBeta(*node)) return std::nullopt;
    form = {operand(1), operand(2), 1, operand(0)};
  } else {
    if (node->kind == OpKind::Add && plainAlpha(*node)) {
      const size_t biasSide = graph.value(operand(1)).constant != graph::kNone ? 1 : 0;
      form.bias = operand(biasSide);
      node = operand(1 - biasSide) == kNoValue ? nullptr : soleProducer(graph, operand(1 - biasSide));
    }
    if (node == nullptr || node->kind != OpKind::MatMul || !plainAlpha(*node)) return std::nullopt;
    form = {operand(0), operand(1), 1, form.bias};
  }
  return form.weight != kNoValue && ownConstants(graph, form) ? std::optional(form) : std::nullopt;
}

// Every operand is a linear of the same input, read by the concatenation alone.
std::optional<std::vector<LinearForm>> linearsOfOneInput(const Graph& graph, const Node& concat) {
  std::vector<LinearForm> found;
  for (const ValueId value : concat.operands) {
    const auto form = linearForm(graph, value);
    if (!form) return std::nullopt;
    if (!found.empty() && (form->input != found[0].input || (form->bias == kNoValue) != (found[0].bias == kNoValue)))
      return std::nullopt;
    found.push_back(*form);
  }
  return found.size() > 1 ? std::optional(found) : std::nullopt;
}

// Each weight is summed over all of its outputs, each bias over its only axis.
ZeroMean jointNeeds(const Graph& graph, const std::vector<LinearForm>& linears) {
  ZeroMean out = ZeroMean::of({});
  std::vector<Demand> weights;
  std::vector<Demand> biases;
  const int64_t first = 0;
  for (const LinearForm& form : linears) {
    weights.push_back({form.weight, Pattern::overAxes(*shapeOf(graph, form.weight), {&form.outputAxis, 1})});
    if (form.bias != kNoValue)
      biases.push_back({form.bias, Pattern::overAxes(*shapeOf(graph, form.bias), {&first, 1})});
  }
  out.jointly.push_back(std::move(weights));
  if (!biases.empty()) out.jointly.push_back(std::move(biases));
  return out;
}

bool lastAxisWholeSum(const AxisView& view) {
  const auto& axis = view.dims[view.axis];
  if (view.axis + 1 != view.dims.size() || axis.size() != 1 || !axis[0].summed || !axis[0].whole()) return false;
  for (size_t i = 0; i < view.axis; ++i) {
    if (anySummed(view.dims[i])) return false;
  }
  return true;
}

// Returns the size of an axis that all operands share.
AxisSize sizeOfAny(SizeQuestion& sizes, const Node& node, size_t axis) {
  const auto fixed = [&](ValueId part) { return sizes.isFixed(part, axis); };
  return std::ranges::any_of(node.operands, fixed) ? kFixedSize : sizes.of(node.operands[0], axis);
}

}  // namespace

ZeroMean concatZeroMean(SizeQuestion& sizes, const Node& node, int output, const Pattern& pattern) {
  const Graph& graph = sizes.graph();
  const auto view = viewOf(graph, node, 0, output, pattern, false);
  if (!view || view->axis >= view->dims.size()) return ZeroMean::refused(kNoShape);
  const auto& joined = sizes.joinedBy(node, view->axis);
  if (joined.starts.empty()) return ZeroMean::refused(kNoShape);
  if (lastAxisWholeSum(*view)) {
    if (const auto joint = linearsOfOneInput(graph, node)) return jointNeeds(graph, *joint);
  }
  std::vector<Demand> all;
  const bool anyBegin = eachByItself(view->dims[view->axis]);
  for (size_t i = 0; i < node.operands.size(); ++i) {
    FactorsPerDim dims = view->dims;
    const int64_t size = shapeOf(graph, node.operands[i])->at(view->axis);
    auto seen = window(dims[view->axis], joined.starts[i], size);
    if (!seen) return ZeroMean::refused(kCutsChannels);
    if (!seen->reaches) {
      // Nothing in the probe run; another run may have something there.
      const bool stays = size > 0 || sizes.isFixed(node.operands[i], view->axis);
      if (!stays) return ZeroMean::refused(kCutsChannels);
      continue;
    }
    if (!anyBegin && i >= joined.fixed) return ZeroMean::refused("only a run knows where its parts begin");
    dims[view->axis] = std::move(seen->factors);
    all.push_back({node.operands[i], joinDims(dims)});
  }
  return ZeroMean::of(std::move(all));
}
Shift concatShift(SizeQuestion& sizes, const Node& node, int operand, const Pattern& pattern) {
  const Graph& graph = sizes.graph();
  const auto at = static_cast<size_t>(operand);
  auto view = viewOf(graph, node, at, 0, pattern, true);
  if (!view || view->axis >= view->dims.size()) return Shift::refused(kNoShape);
  const auto& [starts, fixed] = sizes.joinedBy(node, view->axis);
  if (starts.empty()) return Shift::refused(kNoShape);
  auto wide = placed(view->dims[view->axis], (*view->in)[view->axis], starts[at], (*view->out)[view->axis], false);
  if (!wide) return Shift::refused(kCutsChannels);
  if (at < fixed) {
    view->dims[view->axis] = std::move(*wide);
    return carries(node.outputs[0], view->dims);
  }
  // Another run may have it elsewhere: as in windowShift(), each position stands for itself.
  const bool apart = anySummed(view->dims[view->axis]);
  view->dims[view->axis] = wholeKept((*view->out)[view->axis]);
  Pattern left = joinDims(view->dims);
  if (apart && !left.sumsAnything()) return Shift::refused("only a run knows where its parts begin");
  return Shift::carried({{node.outputs[0], std::move(left)}});
}

ZeroMean stackZeroMean(const Graph& graph, const Node& node, int output, const Pattern& pattern) {
  const auto view = viewOf(graph, node, 0, output, pattern, false);
  if (!view || view->axis >= view->dims.size()) return ZeroMean::refused(kNoShape);
  FactorsPerDim dims = view->dims;
  dims.erase(dims.begin() + static_cast<std::ptrdiff_t>(view->axis));
  const Pattern each = joinDims(dims);
  if (!each.sumsAnything()) return ZeroMean::refused("the norm sums over stacked tensors");
  std::vector<Demand> all;
  for (size_t i = 0; i < node.operands.size(); ++i) {
    const auto seen = window(view->dims[view->axis], static_cast<int64_t>(i), 1);
    if (!seen || seen->reaches) all.push_back({node.operands[i], each});
  }
  return ZeroMean::of(std::move(all));
}
Shift stackShift(const Graph& graph, const Node& node, int operand, const Pattern& pattern) {
  auto view = viewOf(graph, node, static_cast<size_t>(operand), 0, pattern, true);
  if (!view || view->axis >= view->out->size()) return Shift::refused(kNoShape);
  view->dims.insert(view->dims.begin() + static_cast<std::ptrdiff_t>(view->axis), wholeKept((*view->out)[view->axis]));
  return carries(node.outputs[0], view->dims);
}

AxisSize concatSize(SizeQuestion& sizes, const Node& node, const AxisSize& own) {
  const auto axis = axisOf(node);
  if (!axis) return own;
  if (own.axis != *axis) return sizeOfAny(sizes, node, own.axis);
  const auto fixed = [&](ValueId part) { return sizes.isFixed(part, own.axis); };
  return std::ranges::all_of(node.operands, fixed) ? kFixedSize : own;
}

AxisSize stackSize(SizeQuestion& sizes, const Node& node, const AxisSize& own) {
  const auto axis = axisOf(node);
  if (!axis) return own;
  return own.axis == *axis ? kFixedSize : sizeOfAny(sizes, node, own.axis > *axis ? own.axis - 1 : own.axis);
}

}  // namespace normlens::ops
