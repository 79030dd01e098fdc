// A part of an axis, or an axis with a border: Slice, Select, Unbind, Split, Pad.
#include <algorithm>

#include "core/graph/graph.h"
#include "core/ops/axis_size.h"
#include "core/ops/axis_view.h"
#include "core/ops/contraction.h"
#include "core/ops/index_maps.h"
#include "core/ops/pattern.h"
#include "core/ops/rule_sets.h"
#include "core/ops/size_question.h"

namespace normlens::ops {
namespace {

// Decides whether a part cut out of a value is a part of the features that a weight makes, whatever the input's size.

constexpr int kMaxSteps = 16;

bool isConstant(const Graph& graph, ValueId value) { return value != kNoValue && graph.value(value).constant != kNone; }

// A constant, perhaps seen through changes of its shape.
bool isWeight(const Graph& graph, ValueId value) {
  for (int step = 0; step < kMaxSteps && value != kNoValue; ++step) {
    const auto& made = graph.value(value);
    if (made.producer == kNone) return made.constant != kNone;
    const Node& node = graph.node(made.producer);
    const bool view = node.kind == OpKind::Identity || node.kind == OpKind::Cast || node.kind == OpKind::Reshape ||
                      node.kind == OpKind::Permute;
    if (!view) return false;
    value = node.operands.at(0);
  }
  return false;
}

// Every label that the region restricts is the weight's own.
bool regionOfWeight(const Graph& graph, const Node& node, const Pattern& pattern) {
  const auto c = contractionOf(graph, node);
  if (!c || c->b < 0) return false;
  const auto dims = alignTo(pattern, sizesOf(c->labelsOut));
  if (!dims) return false;
  const bool weightA = isWeight(graph, node.operands[static_cast<size_t>(c->a)]);
  const bool weightB = isWeight(graph, node.operands[static_cast<size_t>(c->b)]);
  for (size_t i = 0; i < c->labelsOut.size(); ++i) {
    const auto& factors = (*dims)[i];
    if (std::all_of(factors.begin(), factors.end(), [](const Factor& f) { return f.whole(); })) continue;
    const int id = c->labelsOut[i].id;
    const bool inA = has(c->labelsA, id);
    const bool inB = has(c->labelsB, id);
    if ((inA && !weightA) || (inB && !weightB) || (!inA && !inB)) return false;
  }
  return true;
}

// `cut` cuts the region of `pattern` out of `value`, along an axis that is not summed. True where the region is one of
// output features of a linear, or of rows of a constant that are fixed: q, k and v of a fused projection are then
// centered apart. False where the cut may move with the input's size (the first T rows of a table of positions): the
// whole is needed. Along all other axes that also gives all reads of a stream the same question.
bool cutsFeatures(const Graph& graph, const Node& cut, ValueId value, const Pattern& pattern) {
  if (!isFixedCut(graph, cut)) return false;
  Pattern at = pattern;
  for (int step = 0; step < kMaxSteps && value != kNoValue; ++step) {
    const auto& made = graph.value(value);
    if (made.constant != kNone) return cut.kind != OpKind::Slice;  // all slices of a constant need the whole
    if (made.producer == kNone) return false;
    const Node& node = graph.node(made.producer);
    switch (node.kind) {
      case OpKind::Identity:
      case OpKind::Cast:
      case OpKind::Reshape:
        if (restrictsTornAxis(graph, node, at)) return false;
        value = node.operands.at(0);
        break;
      case OpKind::Permute: {
        auto moved = opRow(node.kind).zeroMean(graph, node, 0, at);
        if (moved.verdict != ZeroMean::Verdict::Needs) return false;
        at = std::move(moved.needs.at(0).pattern);
        value = node.operands.at(0);
        break;
      }
      case OpKind::Add: {
        const ValueId data = node.operands.at(isConstant(graph, node.operands.at(0)) ? 1 : 0);
        if (data == kNoValue || graph.value(data).shape != made.shape) return false;
        value = data;
        break;
      }
      case OpKind::Linear:
      case OpKind::MatMul:
      case OpKind::AddMatMul:
      case OpKind::Conv:
      case OpKind::Einsum:
        return regionOfWeight(graph, node, at);
      default:
        return false;
    }
  }
  return false;
}

// Returns why it is not known where a window starts, or there is none.
std::string cutsFrom(const Node& node, const std::string& channels) {
  const int64_t step = graph::intAttribute(node, "step").value_or(1);
  if (step != 1) return "it takes some of " + channels + ", at a step of " + std::to_string(step);
  return "it cuts a run-time part out of " + channels;
}

// Returns the window's start; nullopt where it would leave the axis, as only a file that no runtime takes has it.
std::optional<int64_t> inside(std::optional<int64_t> start, int64_t length, int64_t size) {
  return start && *start <= size - length ? start : std::nullopt;
}

// The cut takes all of an axis in the probe run, at positions that the file writes: of a longer one it takes a part.
bool mayTakeLess(const Graph& graph, const Node& node, ValueId in, size_t axis, bool whole) {
  if (!whole || graph::boolAttribute(node, "from_end")) return false;
  const bool written = graph::intAttribute(node, "end") || graph::intsAttribute(node, "sizes");
  return written && !isSizeFixed(graph, in, axis);
}

// y is the window [start, start + length) of x's axis.
ZeroMean windowZeroMean(const Graph& graph, const Node& node, AxisView view, std::optional<int64_t> start,
                        int64_t length, ValueId in) {
  auto& axis = view.dims.at(view.axis);
  const int64_t size = view.in->at(view.axis);
  start = inside(start, length, size);
  const bool summed = anySummed(axis);
  if (!start && summed) return ZeroMean::refused(cutsFrom(node, "the norm's channels"));
  if (!start || (length == 0 && !summed)) {  // in the probe run alone it may be empty
    axis = wholeKept(size);
    return needs(in, view.dims);
  }
  auto wide = placed(axis, length, *start, size, true);
  if (!wide) return ZeroMean::refused(kCutsChannels);
  axis = std::move(*wide);
  // Along an axis that is kept, a part is needed only where it is a part of features.
  if (!summed && length != size && !cutsFeatures(graph, node, in, joinDims(view.dims))) axis = wholeKept(size);
  if (axis.front().summed && mayTakeLess(graph, node, in, view.axis, length == size))
    return ZeroMean::refused(cutsFrom(node, "the norm's channels"));
  if (summed && !isFixedCut(graph, node)) {
    if (axis.front().summed) return ZeroMean::refused(cutsFrom(node, "the norm's channels"));
    // Rows of a flattened value: another run may take more of them.
    for (Factor& factor : axis) {
      if (!factor.summed) factor = Factor{factor.size, 0, factor.size, false};
    }
  }
  return needs(in, view.dims);
}

// Equal within a group is equal within its parts: where it is not known which positions are cut out, or they are parts
// of groups, each position stands for itself and the groups of the other axes are left.
Shift windowShift(const Graph& graph, const Node& node, AxisView view, std::optional<int64_t> start, int64_t length,
                  ValueId out) {
  auto& axis = view.dims.at(view.axis);
  start = inside(start, length, view.in->at(view.axis));
  // Another run may take other positions: of a region it then sees more or less.
  const bool whole = std::ranges::all_of(axis, [](const Factor& factor) { return factor.whole(); });
  if (!whole && !isFixedCut(graph, node)) start = std::nullopt;
  if (const auto seen = start ? window(axis, *start, length) : std::nullopt) {
    if (!seen->reaches) return Shift::absorbed();
    axis = seen->factors;
    return carries(out, view.dims);
  }
  const bool apart = anySummed(axis);
  const bool constant = axis.size() == 1 && axis[0].summed && axis[0].whole();
  axis = {Factor{length, 0, length, constant}};
  Pattern left = joinDims(view.dims);
  if (apart && !left.sumsAnything())
    return Shift::refused(start ? std::string(kCutsChannels) : cutsFrom(node, "the shifted channels"));
  return Shift::carried({{out, std::move(left)}});
}

// Select and Unbind take one index of the axis, which is gone.
bool dropsAxis(const Node& node) { return node.kind == OpKind::Select || node.kind == OpKind::Unbind; }

// Returns where the window of an output starts; nullopt: a run decides, or it is none.
std::optional<int64_t> startOf(const Graph& graph, const Node& node, int output, size_t axis) {
  if (node.kind == OpKind::Unbind) return output;
  if (node.kind == OpKind::Split) {
    int64_t offset = 0;
    for (int i = 0; i < output; ++i) {
      const Shape* shape = shapeOf(graph, node.outputs[static_cast<size_t>(i)]);
      if (shape == nullptr || axis >= shape->size()) return std::nullopt;
      offset += (*shape)[axis];
    }
    return offset;
  }
  if (graph::intAttribute(node, "step").value_or(1) != 1) return std::nullopt;
  const auto start = graph::intAttribute(node, node.kind == OpKind::Select ? "index" : "start");
  return start && *start >= 0 ? start : std::nullopt;
}

std::optional<AxisView> viewOfCut(const Graph& graph, const Node& node, int output, const Pattern& pattern,
                                  bool ofInput) {
  auto view = viewOf(graph, node, 0, output, pattern, ofInput);
  if (!view || view->axis >= view->in->size()) return std::nullopt;
  return view->out->size() + (dropsAxis(node) ? 1 : 0) == view->in->size() ? std::move(view) : std::nullopt;
}

int64_t lengthOf(const Node& node, const AxisView& view) { return dropsAxis(node) ? 1 : (*view.out)[view.axis]; }

}  // namespace

ZeroMean cutZeroMean(const Graph& graph, const Node& node, int output, const Pattern& pattern) {
  auto view = viewOfCut(graph, node, output, pattern, false);
  if (!view) return ZeroMean::refused(kNoShape);
  if (dropsAxis(node)) view->dims.insert(view->dims.begin() + static_cast<std::ptrdiff_t>(view->axis), Factors{});
  const auto start = startOf(graph, node, output, view->axis);
  const int64_t length = lengthOf(node, *view);
  return windowZeroMean(graph, node, std::move(*view), start, length, node.operands[0]);
}

// Absorbed where it reaches no output.
Shift cutShift(const Graph& graph, const Node& node, int operand, const Pattern& pattern) {
  if (operand != 0)
    return Shift::refused(node.kind == OpKind::Select ? "the shifted values are its index"
                                                      : "it reads the shifted values");
  Shift all = Shift::absorbed();
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    const auto output = static_cast<int>(i);
    auto view = viewOfCut(graph, node, output, pattern, true);
    if (!view) return Shift::refused(kNoShape);
    const auto start = startOf(graph, node, output, view->axis);
    const int64_t length = lengthOf(node, *view);
    Shift one = windowShift(graph, node, std::move(*view), start, length, node.outputs[i]);
    if (one.verdict == Shift::Verdict::Refused) return one;
    if (one.verdict == Shift::Verdict::Absorbed) continue;
    all.verdict = Shift::Verdict::Carried;
    std::move(one.outputs.begin(), one.outputs.end(), std::back_inserter(all.outputs));
  }
  return all;
}

namespace {

// One axis that a Pad makes longer, or shorter: what is known of it in every run.
struct PaddedAxis {
  size_t axis = 0;
  std::optional<int64_t> start;  // elements in front; nullopt: the amounts are computed, or cut something off
};

std::optional<std::vector<PaddedAxis>> paddedAxes(const Node& node) {
  const auto axes = graph::intsAttribute(node, "axes");
  const auto start = graph::intsAttribute(node, "start");
  if (!axes || (start && axes->size() != start->size())) return std::nullopt;
  std::vector<PaddedAxis> padded;
  for (size_t i = 0; i < axes->size(); ++i)
    padded.push_back({static_cast<size_t>((*axes)[i]), start ? std::optional((*start)[i]) : std::nullopt});
  return padded;
}

constexpr const char* kPaddedByRun = "it pads the channels by amounts that a run computes, or cuts some off";

}  // namespace

// Along axes that are kept, whatever the border is: each of its rows is 0 or one of x's.
ZeroMean padZeroMean(const Graph& graph, const Node& node, int output, const Pattern& pattern) {
  auto view = viewOf(graph, node, 0, output, pattern, false);
  const auto padded = paddedAxes(node);
  if (!view) return ZeroMean::refused(kNoShape);
  if (!padded) return ZeroMean::refused(kPaddedByRun);
  const auto fill = graph::floatAttribute(node, "value");
  if (fill && *fill != 0.0) return ZeroMean::refused("it pads with something other than 0");
  for (const auto& [axis, start] : *padded) {
    Factors& factors = view->dims.at(axis);
    const int64_t size = view->in->at(axis);
    if (!fill || !start) {
      if (anySummed(factors)) return ZeroMean::refused(fill ? kPaddedByRun : "its border repeats the norm's channels");
      factors = wholeKept(size);
      continue;
    }
    auto seen = window(factors, *start, size);
    if (!seen) return ZeroMean::refused(kCutsChannels);
    if (!seen->reaches) return ZeroMean::proven();
    factors = std::move(seen->factors);
  }
  return needs(node.operands[0], view->dims);
}
Shift padShift(const Graph& graph, const Node& node, int operand, const Pattern& pattern) {
  auto view = viewOf(graph, node, 0, 0, pattern, true);
  const auto padded = paddedAxes(node);
  if (operand != 0 || !view) return Shift::refused(kNoShape);
  if (!padded) return Shift::refused(kPaddedByRun);
  // Without a constant fill the border repeats x, shift included.
  const bool filled = graph::floatAttribute(node, "value").has_value();
  bool apart = false;
  for (const auto& [axis, start] : *padded) {
    Factors& factors = view->dims.at(axis);
    // Each position stands for itself, as in windowShift().
    if (!filled || !start) {
      apart = apart || anySummed(factors);
      factors = wholeKept(view->out->at(axis));
      continue;
    }
    auto wide = placed(factors, view->in->at(axis), *start, view->out->at(axis), false);
    if (!wide) return Shift::refused(kCutsChannels);
    factors = std::move(*wide);
  }
  Pattern left = joinDims(view->dims);
  if (apart && !left.sumsAnything())
    return Shift::refused(filled ? kPaddedByRun : "its border repeats the shifted channels");
  return Shift::carried({{node.outputs[0], std::move(left)}});
}

AxisSize windowSize(SizeQuestion& sizes, const Node& node, const AxisSize& own) {
  const auto axis = axisOf(node);
  if (!axis) return own;
  if (own.axis != *axis) return sizes.of(node.operands[0], own.axis);
  return sizes.isFixedCut(node) ? kFixedSize : own;
}

AxisSize selectSize(SizeQuestion& sizes, const Node& node, const AxisSize& own) {
  const auto axis = axisOf(node);
  return axis ? sizes.of(node.operands[0], own.axis < *axis ? own.axis : own.axis + 1) : own;
}

AxisSize padSize(SizeQuestion& sizes, const Node& node, const AxisSize& own) {
  if (!graph::intsAttribute(node, "axes")) return own;
  if (!listsAxis(node, "axes", own.axis)) return sizes.of(node.operands[0], own.axis);
  return graph::intsAttribute(node, "start") ? sizes.fixedAs(node.operands[0], own.axis, own) : own;
}

}  // namespace normlens::ops
