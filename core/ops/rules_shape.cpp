#include <algorithm>
#include <numeric>

#include "core/ops/feature_cut.h"
#include "core/ops/index_maps.h"
#include "core/ops/rule_sets.h"

namespace normlens::ops {

using graph::Graph;
using graph::kNoValue;
using graph::Node;
using graph::OpKind;
using graph::Shape;
using graph::ValueId;

namespace {

constexpr const char* kCutsChannels = "it cuts through the norm's channels";

// What almost every rule here starts from: both shapes, the axis, and the pattern cut at the axes of one side.
struct View {
  const Shape* in = nullptr;
  const Shape* out = nullptr;
  size_t axis = 0;
  FactorsPerDim dims;
};

std::optional<View> viewOf(const Graph& graph, const Node& node, size_t operand, int output, const Pattern& pattern,
                           bool ofInput) {
  View view;
  if (operand >= node.operands.size() || static_cast<size_t>(output) >= node.outputs.size()) return std::nullopt;
  view.in = shapeOf(graph, node.operands[operand]);
  view.out = shapeOf(graph, node.outputs[static_cast<size_t>(output)]);
  if (view.in == nullptr || view.out == nullptr) return std::nullopt;
  if (const auto axis = graph::intAttribute(node, "axis")) {
    if (*axis < 0) return std::nullopt;
    view.axis = static_cast<size_t>(*axis);
  }
  auto dims = alignTo(pattern, ofInput ? *view.in : *view.out);
  if (!dims) return std::nullopt;
  view.dims = std::move(*dims);
  return view;
}

ZeroMean needs(ValueId value, const FactorsPerDim& dims) { return ZeroMean::of({{value, joinDims(dims)}}); }
Shift carries(ValueId value, const FactorsPerDim& dims) { return Shift::carried({{value, joinDims(dims)}}); }

// Why it is not known where a window starts, or there is none.
std::string cutsFrom(const Node& node, const std::string& channels) {
  const int64_t step = graph::intAttribute(node, "step").value_or(1);
  if (step != 1) return "it takes some of " + channels + ", at a step of " + std::to_string(step);
  return "it cuts a run-time part out of " + channels;
}

// y is the window [start, start + length) of x's axis.
ZeroMean windowZeroMean(const Graph& graph, const Node& node, View view, std::optional<int64_t> start, int64_t length,
                        ValueId in) {
  auto& axis = view.dims.at(view.axis);
  const int64_t size = view.in->at(view.axis);
  if (!start) {
    if (anySummed(axis)) return ZeroMean::refused(cutsFrom(node, "the norm's channels"));
    axis = wholeKept(size);
    return needs(in, view.dims);
  }
  const bool summed = anySummed(axis);
  auto wide = placed(axis, length, *start, size, true);
  if (!wide) return ZeroMean::refused(kCutsChannels);
  axis = std::move(*wide);
  // Along an axis that is kept, a part is asked for only where it is a part of features.
  if (!summed && length != size && !cutsFeatures(graph, node, in, joinDims(view.dims))) axis = wholeKept(size);
  return needs(in, view.dims);
}

Shift windowShift(const Node& node, View view, std::optional<int64_t> start, int64_t length, ValueId out) {
  auto& axis = view.dims.at(view.axis);
  if (!start) {
    const bool constant = axis.size() == 1 && axis[0].summed && axis[0].whole();
    if (anySummed(axis) && !constant) return Shift::refused(cutsFrom(node, "the shifted channels"));
    axis = {Factor{length, 0, length, constant}};
    return carries(out, view.dims);
  }
  auto seen = window(axis, *start, length);
  if (!seen) return Shift::refused(kCutsChannels);
  if (!seen->reaches) return Shift::absorbed();
  axis = std::move(seen->factors);
  return carries(out, view.dims);
}

std::optional<int64_t> startOf(const Node& node) {
  if (graph::intAttribute(node, "step").value_or(1) != 1) return std::nullopt;
  const auto start = graph::intAttribute(node, "start");
  return start && *start >= 0 ? start : std::nullopt;
}

int64_t offsetOfOutput(const Graph& graph, const Node& node, int output, size_t axis) {
  int64_t offset = 0;
  for (int i = 0; i < output; ++i) {
    const Shape* shape = shapeOf(graph, node.outputs[static_cast<size_t>(i)]);
    if (shape == nullptr || axis >= shape->size()) return -1;
    offset += (*shape)[axis];
  }
  return offset;
}

// Start of each operand along a concatenation; nullopt when a shape is missing.
std::optional<std::vector<int64_t>> starts(const Graph& graph, const Node& node, size_t axis) {
  std::vector<int64_t> out;
  int64_t at = 0;
  for (const ValueId value : node.operands) {
    const Shape* shape = shapeOf(graph, value);
    if (shape == nullptr || axis >= shape->size()) return std::nullopt;
    out.push_back(at);
    at += (*shape)[axis];
  }
  return out;
}

// x W + b, however a format writes it: Linear(x, W, b), MatMul(x, W), AddMatMul(b, x, W) or MatMul(x, W) + b.
struct LinearForm {
  ValueId input = kNoValue;
  ValueId weight = kNoValue;
  int64_t outputAxis = 0;   // of the weight, which has two
  ValueId bias = kNoValue;  // of as many elements as that axis
};

// The producer of a value that nothing else reads.
const Node* soleProducer(const Graph& graph, ValueId value) {
  const auto& made = graph.value(value);
  const bool sole = made.producer != graph::kNone && made.uses.size() == 1 && made.opaqueReason.empty();
  return sole ? &graph.node(made.producer) : nullptr;
}

bool scalesBy(const Node& node, std::string_view name) {
  return graph::floatAttribute(node, name).value_or(1.0) != 1.0 || graph::intAttribute(node, name).value_or(1) != 1;
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
    if (scalesBy(*node, "alpha") || scalesBy(*node, "beta")) return std::nullopt;
    form = {operand(1), operand(2), 1, operand(0)};
  } else {
    if (node->kind == OpKind::Add && plainAlpha(*node)) {
      const size_t biasSide = graph.value(operand(1)).constant != graph::kNone ? 1 : 0;
      form.bias = operand(biasSide);
      node = operand(1 - biasSide) == kNoValue ? nullptr : soleProducer(graph, operand(1 - biasSide));
    }
    if (node == nullptr || node->kind != OpKind::MatMul || scalesBy(*node, "alpha")) return std::nullopt;
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

bool lastAxisWholeSum(const View& view) {
  const auto& axis = view.dims[view.axis];
  if (view.axis + 1 != view.dims.size() || axis.size() != 1 || !axis[0].summed || !axis[0].whole()) return false;
  for (size_t i = 0; i < view.axis; ++i) {
    if (anySummed(view.dims[i])) return false;
  }
  return true;
}

}  // namespace

ZeroMean reshapeZeroMean(const Graph&, const Node& node, int, const Pattern& pattern) {
  return ZeroMean::of({{node.operands.at(0), pattern}});
}
Shift reshapeShift(const Graph&, const Node& node, int operand, const Pattern& pattern) {
  if (operand != 0) return Shift::refused("it reads the shifted values");
  return Shift::carried({{node.outputs[0], pattern}});
}

ZeroMean permuteZeroMean(const Graph& graph, const Node& node, int output, const Pattern& pattern) {
  const auto perm = graph::intsAttribute(node, "perm");
  const auto view = viewOf(graph, node, 0, output, pattern, false);
  if (!perm || !view || perm->size() != view->dims.size()) return ZeroMean::refused(kNoShape);
  FactorsPerDim in(perm->size());
  for (size_t i = 0; i < perm->size(); ++i) in.at(static_cast<size_t>((*perm)[i])) = view->dims[i];
  return needs(node.operands[0], in);
}
Shift permuteShift(const Graph& graph, const Node& node, int, const Pattern& pattern) {
  const auto perm = graph::intsAttribute(node, "perm");
  const auto view = viewOf(graph, node, 0, 0, pattern, true);
  if (!perm || !view || perm->size() != view->dims.size()) return Shift::refused(kNoShape);
  FactorsPerDim out(perm->size());
  for (size_t i = 0; i < perm->size(); ++i) out[i] = view->dims.at(static_cast<size_t>((*perm)[i]));
  return carries(node.outputs[0], out);
}

ZeroMean expandZeroMean(const Graph& graph, const Node& node, int, const Pattern& pattern) {
  const Shape* in = shapeOf(graph, node.operands.at(0));
  const Shape* out = shapeOf(graph, node.outputs[0]);
  auto part = in == nullptr || out == nullptr ? std::nullopt : narrowToOperand(pattern, *out, *in);
  if (!part) return ZeroMean::refused(kNoShape);
  return ZeroMean::of({{node.operands[0], std::move(*part)}});
}
Shift expandShift(const Graph& graph, const Node& node, int operand, const Pattern& pattern) {
  const Shape* in = shapeOf(graph, node.operands.at(0));
  const Shape* out = shapeOf(graph, node.outputs[0]);
  if (operand != 0) return Shift::absorbed();  // expand_as reads the other operand's shape only
  auto wide = in == nullptr || out == nullptr ? std::nullopt : widenFromOperand(pattern, *in, *out);
  if (!wide) return Shift::refused(kNoShape);
  return Shift::carried({{node.outputs[0], std::move(*wide)}});
}

ZeroMean sliceZeroMean(const Graph& graph, const Node& node, int output, const Pattern& pattern) {
  auto view = viewOf(graph, node, 0, output, pattern, false);
  if (!view || view->axis >= view->dims.size()) return ZeroMean::refused(kNoShape);
  const int64_t length = (*view->out)[view->axis];
  return windowZeroMean(graph, node, std::move(*view), startOf(node), length, node.operands[0]);
}
Shift sliceShift(const Graph& graph, const Node& node, int operand, const Pattern& pattern) {
  auto view = viewOf(graph, node, 0, 0, pattern, true);
  if (operand != 0 || !view || view->axis >= view->dims.size()) return Shift::refused(kNoShape);
  const int64_t length = (*view->out)[view->axis];
  return windowShift(node, std::move(*view), startOf(node), length, node.outputs[0]);
}

namespace {

std::optional<int64_t> indexOf(const Node& node, int output) {
  if (node.kind == OpKind::Unbind) return output;
  const auto index = graph::intAttribute(node, "index");
  return index && *index >= 0 ? index : std::nullopt;
}

ZeroMean pickZeroMean(const Graph& graph, const Node& node, int output, const Pattern& pattern) {
  auto view = viewOf(graph, node, 0, output, pattern, false);
  if (!view || view->axis >= view->in->size() || view->dims.size() + 1 != view->in->size())
    return ZeroMean::refused(kNoShape);
  view->dims.insert(view->dims.begin() + static_cast<std::ptrdiff_t>(view->axis), Factors{});
  return windowZeroMean(graph, node, std::move(*view), indexOf(node, output), 1, node.operands[0]);
}

Shift pickShift(const Graph& graph, const Node& node, int output, const Pattern& pattern) {
  auto view = viewOf(graph, node, 0, output, pattern, true);
  if (!view || view->axis >= view->dims.size()) return Shift::refused(kNoShape);
  return windowShift(node, std::move(*view), indexOf(node, output), 1, node.outputs[static_cast<size_t>(output)]);
}

// One shift result for a node with several outputs: absorbed where it reaches none of them.
template <class PerOutput>
Shift overOutputs(const Node& node, PerOutput perOutput) {
  Shift all = Shift::absorbed();
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    Shift one = perOutput(static_cast<int>(i));
    if (one.verdict == Shift::Verdict::Refused) return one;
    if (one.verdict == Shift::Verdict::Absorbed) continue;
    all.verdict = Shift::Verdict::Carried;
    std::move(one.outputs.begin(), one.outputs.end(), std::back_inserter(all.outputs));
  }
  return all;
}

}  // namespace

ZeroMean selectZeroMean(const Graph& graph, const Node& node, int output, const Pattern& pattern) {
  return pickZeroMean(graph, node, output, pattern);
}
Shift selectShift(const Graph& graph, const Node& node, int operand, const Pattern& pattern) {
  if (operand != 0) return Shift::refused("the shifted values are its index");
  return pickShift(graph, node, 0, pattern);
}

ZeroMean unbindZeroMean(const Graph& graph, const Node& node, int output, const Pattern& pattern) {
  return pickZeroMean(graph, node, output, pattern);
}
Shift unbindShift(const Graph& graph, const Node& node, int, const Pattern& pattern) {
  return overOutputs(node, [&](int output) { return pickShift(graph, node, output, pattern); });
}

ZeroMean splitZeroMean(const Graph& graph, const Node& node, int output, const Pattern& pattern) {
  auto view = viewOf(graph, node, 0, output, pattern, false);
  if (!view || view->axis >= view->dims.size()) return ZeroMean::refused(kNoShape);
  const int64_t offset = offsetOfOutput(graph, node, output, view->axis);
  const int64_t length = (*view->out)[view->axis];
  return windowZeroMean(graph, node, std::move(*view), offset < 0 ? std::nullopt : std::optional(offset), length,
                        node.operands[0]);
}
Shift splitShift(const Graph& graph, const Node& node, int operand, const Pattern& pattern) {
  if (operand != 0) return Shift::refused("it reads the shifted values");
  return overOutputs(node, [&](int output) {
    auto view = viewOf(graph, node, 0, output, pattern, true);
    if (!view || view->axis >= view->dims.size()) return Shift::refused(kNoShape);
    const int64_t offset = offsetOfOutput(graph, node, output, view->axis);
    const int64_t length = (*view->out)[view->axis];
    return windowShift(node, std::move(*view), offset < 0 ? std::nullopt : std::optional(offset), length,
                       node.outputs[static_cast<size_t>(output)]);
  });
}

ZeroMean concatZeroMean(const Graph& graph, const Node& node, int output, const Pattern& pattern) {
  const auto view = viewOf(graph, node, 0, output, pattern, false);
  if (!view || view->axis >= view->dims.size()) return ZeroMean::refused(kNoShape);
  const auto from = starts(graph, node, view->axis);
  if (!from) return ZeroMean::refused(kNoShape);
  if (lastAxisWholeSum(*view)) {
    if (const auto joint = linearsOfOneInput(graph, node)) return jointNeeds(graph, *joint);
  }
  std::vector<Demand> all;
  for (size_t i = 0; i < node.operands.size(); ++i) {
    FactorsPerDim dims = view->dims;
    auto seen = window(dims[view->axis], (*from)[i], shapeOf(graph, node.operands[i])->at(view->axis));
    if (!seen) return ZeroMean::refused(kCutsChannels);
    if (!seen->reaches) continue;
    dims[view->axis] = std::move(seen->factors);
    all.push_back({node.operands[i], joinDims(dims)});
  }
  return ZeroMean::of(std::move(all));
}
Shift concatShift(const Graph& graph, const Node& node, int operand, const Pattern& pattern) {
  auto view = viewOf(graph, node, static_cast<size_t>(operand), 0, pattern, true);
  if (!view || view->axis >= view->dims.size()) return Shift::refused(kNoShape);
  const auto from = starts(graph, node, view->axis);
  if (!from) return Shift::refused(kNoShape);
  auto wide = placed(view->dims[view->axis], (*view->in)[view->axis], (*from)[static_cast<size_t>(operand)],
                     (*view->out)[view->axis], false);
  if (!wide) return Shift::refused(kCutsChannels);
  view->dims[view->axis] = std::move(*wide);
  return carries(node.outputs[0], view->dims);
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

namespace {

// Positions move within each of these axes: harmless where an axis is all summed or all kept, everywhere.
bool unmoved(FactorsPerDim& dims, const std::vector<int64_t>& axes, const Shape& shape) {
  for (const int64_t axis : axes) {
    auto& factors = dims.at(static_cast<size_t>(axis));
    const bool summed = anySummed(factors);
    if (!summed) {
      factors = wholeKept(shape[static_cast<size_t>(axis)]);
    } else if (!std::all_of(factors.begin(), factors.end(), [](const Factor& f) { return f.summed && f.whole(); })) {
      return false;
    }
  }
  return true;
}

}  // namespace

ZeroMean rollZeroMean(const Graph& graph, const Node& node, int output, const Pattern& pattern) {
  auto view = viewOf(graph, node, 0, output, pattern, false);
  const auto axes = graph::intsAttribute(node, "axes");
  if (!view || !axes) return ZeroMean::refused(kNoShape);
  if (!unmoved(view->dims, *axes, *view->out)) return ZeroMean::refused(kCutsChannels);
  return needs(node.operands[0], view->dims);
}
Shift rollShift(const Graph& graph, const Node& node, int operand, const Pattern& pattern) {
  auto view = viewOf(graph, node, 0, 0, pattern, true);
  const auto axes = graph::intsAttribute(node, "axes");
  if (operand != 0 || !view || !axes) return Shift::refused(kNoShape);
  if (!unmoved(view->dims, *axes, *view->in)) return Shift::refused(kCutsChannels);
  return carries(node.outputs[0], view->dims);
}

ZeroMean padZeroMean(const Graph& graph, const Node& node, int output, const Pattern& pattern) {
  auto view = viewOf(graph, node, 0, output, pattern, false);
  const auto axes = graph::intsAttribute(node, "axes");
  const auto start = graph::intsAttribute(node, "start");
  if (!view || !axes || !start || axes->size() != start->size()) return ZeroMean::refused(kNoShape);
  if (graph::floatAttribute(node, "value").value_or(1.0) != 0.0)
    return ZeroMean::refused("it pads with something other than 0");
  for (size_t i = 0; i < axes->size(); ++i) {
    const auto axis = static_cast<size_t>((*axes)[i]);
    auto seen = window(view->dims.at(axis), (*start)[i], view->in->at(axis));
    if (!seen) return ZeroMean::refused(kCutsChannels);
    if (!seen->reaches) return ZeroMean::proven();
    view->dims[axis] = std::move(seen->factors);
  }
  return needs(node.operands[0], view->dims);
}
Shift padShift(const Graph& graph, const Node& node, int operand, const Pattern& pattern) {
  auto view = viewOf(graph, node, 0, 0, pattern, true);
  const auto axes = graph::intsAttribute(node, "axes");
  const auto start = graph::intsAttribute(node, "start");
  if (operand != 0 || !view || !axes || !start || axes->size() != start->size()) return Shift::refused(kNoShape);
  // Without a constant fill the border repeats x, shift included.
  const bool filled = graph::floatAttribute(node, "value").has_value();
  for (size_t i = 0; i < axes->size(); ++i) {
    const auto axis = static_cast<size_t>((*axes)[i]);
    if (!filled && anySummed(view->dims.at(axis))) return Shift::refused("its border repeats the shifted channels");
    auto wide = placed(view->dims.at(axis), view->in->at(axis), (*start)[i], view->out->at(axis), false);
    if (!wide) return Shift::refused(kCutsChannels);
    view->dims[axis] = std::move(*wide);
  }
  return carries(node.outputs[0], view->dims);
}

namespace {

// Of a Gather: how many of x's axes are indexed together, and how many of y's are there in their place.
struct Indexed {
  size_t axes = 0;
  size_t made = 0;
};
std::optional<Indexed> indexedBy(const Node& node, const View& view) {
  const auto axes = static_cast<size_t>(graph::intAttribute(node, "count").value_or(1));
  if (axes < 1 || view.axis + axes > view.in->size() || view.out->size() + axes < view.in->size()) return std::nullopt;
  return Indexed{axes, view.out->size() + axes - view.in->size()};
}

}  // namespace

ZeroMean gatherZeroMean(const Graph& graph, const Node& node, int output, const Pattern& pattern) {
  const auto view = viewOf(graph, node, 0, output, pattern, false);
  const auto indexed = view ? indexedBy(node, *view) : std::nullopt;
  if (!indexed) return ZeroMean::refused(kNoShape);
  const auto axis = static_cast<std::ptrdiff_t>(view->axis);
  FactorsPerDim dims(view->dims.begin(), view->dims.begin() + axis);
  for (size_t i = 0; i < indexed->axes; ++i) dims.push_back(wholeKept((*view->in)[view->axis + i]));
  dims.insert(dims.end(), view->dims.begin() + axis + static_cast<std::ptrdiff_t>(indexed->made), view->dims.end());
  Pattern needed = joinDims(dims);
  if (!needed.sumsAnything()) return ZeroMean::refused("the norm sums over positions that are looked up at run time");
  return ZeroMean::of({{node.operands[0], std::move(needed)}});
}
Shift gatherShift(const Graph& graph, const Node& node, int operand, const Pattern& pattern) {
  if (operand != 0) return Shift::refused("the shifted values are its index");
  const auto view = viewOf(graph, node, 0, 0, pattern, true);
  const auto indexed = view ? indexedBy(node, *view) : std::nullopt;
  if (!indexed) return Shift::refused(kNoShape);
  const auto axis = static_cast<std::ptrdiff_t>(view->axis), axes = static_cast<std::ptrdiff_t>(indexed->axes);
  const bool constant = std::all_of(view->dims.begin() + axis, view->dims.begin() + axis + axes,
                                    [](const Factors& f) { return f.size() == 1 && f[0].summed && f[0].whole(); });
  FactorsPerDim dims(view->dims.begin(), view->dims.begin() + axis);
  for (size_t i = 0; i < indexed->made; ++i) {
    const int64_t size = (*view->out)[view->axis + i];
    dims.push_back({Factor{size, 0, size, constant}});
  }
  dims.insert(dims.end(), view->dims.begin() + axis + axes, view->dims.end());
  Pattern result = joinDims(dims);
  if (!result.sumsAnything()) return Shift::refused("it looks up single shifted values");
  return Shift::carried({{node.outputs[0], std::move(result)}});
}

}  // namespace normlens::ops
