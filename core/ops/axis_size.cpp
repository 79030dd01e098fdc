#include "core/ops/axis_size.h"

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <numeric>

#include "core/graph/graph.h"
#include "core/graph/queries.h"
#include "core/ops/axis_view.h"
#include "core/ops/index_maps.h"
#include "core/ops/reshape_groups.h"
#include "core/ops/rule_sets.h"
#include "core/ops/rules.h"
#include "core/ops/size_question.h"

namespace normlens::ops {

using Kind = AxisSize::Kind;

namespace {

// Decides whether a weight shows how wide a value is that it is multiplied with.

// A constant, perhaps turned. Not one that may be another in a run (an initializer that is an input, too).
bool isWeight(const Graph& graph, ValueId value) {
  while (value != kNoValue && graph.value(value).producer != kNone) {
    const Node& node = graph.node(graph.value(value).producer);
    if (node.kind != OpKind::Permute && node.kind != OpKind::Cast && node.kind != OpKind::Identity) return false;
    value = node.operands[0];
  }
  return value != kNoValue && graph::isHeld(graph, value);
}

bool contractsWithWeight(const Graph& graph, const graph::Use& use, size_t axis, size_t rank) {
  const Node& node = graph.node(use.node);
  const int data = node.kind == OpKind::AddMatMul ? 1 : 0;
  const ValueId other = graph::operandAt(node, static_cast<size_t>(data) + 1);
  const graph::Shape* shape = shapeOf(graph, other);
  if (use.operand != data || shape == nullptr || shape->size() < 2 || !isWeight(graph, other)) return false;
  switch (node.kind) {
    case OpKind::Linear:
    case OpKind::MatMul:
    case OpKind::AddMatMul:
      return axis + 1 == rank;
    case OpKind::Conv:
      return axis == 1 && rank == shape->size();
    default:
      return false;
  }
}

// Wherever the value exists, a weight is multiplied with it and summed along this axis: a run of another size fails.
// Looks at the uses from `first` to before `end`.
bool hasWidthOfAWeight(const Graph& graph, ValueId value, size_t axis, size_t first, size_t end) {
  const auto& made = graph.value(value);
  const auto block = made.producer == kNone ? made.paramOf : graph.node(made.producer).block;
  for (size_t i = first; i < std::min(end, made.uses.size()); ++i) {
    const graph::Use& use = made.uses[i];
    if (use.node == kNone || graph.node(use.node).block != block) continue;
    if (contractsWithWeight(graph, use, axis, made.shape->size())) return true;
  }
  return false;
}
bool hasWidthOfAWeight(const Graph& graph, ValueId value, size_t axis) {
  return hasWidthOfAWeight(graph, value, axis, 0, graph.value(value).uses.size());
}

constexpr int kDeepest = 512;

// Returns whether the axis' size decides what is taken.
bool countsFromTheEnd(const Node& cut, int64_t size) {
  const auto outside = [&](const char* name) {
    const auto at = graph::intAttribute(cut, name);
    return at && (*at < 0 || *at > size);
  };
  return graph::boolAttribute(cut, "from_end") || outside("start") || outside("end") || outside("index");
}

// A Slice takes less of a shorter axis, but the first element of any.
bool mayReachTheEnd(const Node& slice) {
  return !graph::boolAttribute(slice, "exact") && graph::intAttribute(slice, "end").value_or(2) > 1;
}

AxisSize sizeOfProduct(SizeQuestion& sizes, ValueId a, ValueId b, const AxisSize& own) {
  const Shape *left = shapeOf(sizes.graph(), a), *right = shapeOf(sizes.graph(), b);
  const Shape& out = *shapeOf(sizes.graph(), own.value);
  if (left == nullptr || right == nullptr || left->size() < 2 || right->size() < 2) return own;
  const size_t fromLast = out.size() - own.axis;
  if (fromLast == 1) return sizes.of(b, right->size() - 1);
  const auto has = [&](const Shape& shape) {
    return shape.size() >= fromLast && shape[shape.size() - fromLast] == out[own.axis];
  };
  if (fromLast == 2 || has(*left)) return sizes.of(a, left->size() - fromLast);
  return has(*right) ? sizes.of(b, right->size() - fromLast) : own;
}

// Gamma or beta, which lie along the last axes of x.
bool hasWeightAlong(const Graph& graph, const Node& norm, const Shape& shape, size_t axis) {
  const size_t fromLast = shape.size() - axis;
  return std::ranges::any_of(std::array<size_t, 2>{1, 2}, [&](size_t operand) {
    const ValueId weight = graph::operandAt(norm, operand);
    const Shape* part = shapeOf(graph, weight);
    if (part == nullptr || !graph::isHeld(graph, weight) || part->size() < fromLast) return false;
    return (*part)[part->size() - fromLast] == shape[axis];
  });
}

// An operand of shape `part` is repeated along axis i of `full`.
bool isBroadcastInProbe(const Shape& part, const Shape& full, size_t i) {
  const size_t missing = full.size() - part.size();
  return full[i] != 1 && (i < missing || part[i - missing] == 1);
}

int64_t elementsBefore(const Shape& shape, size_t axis) {
  return std::accumulate(shape.begin(), shape.begin() + static_cast<std::ptrdiff_t>(axis), int64_t{1},
                         std::multiplies<>());
}

// Returns between which of its elements a Reshape with -1 for axis `rest` holds other parts of x in another run: from
// the axes of x that have size 1 in the probe alone, and that no axis of y shows, to `rest`, which takes them up.
std::optional<std::pair<int64_t, int64_t>> elementsCutAnew(SizeQuestion& sizes, ValueId x, const Shape& y, size_t rest,
                                                           std::span<const int64_t> written) {
  const Shape* shape = shapeOf(sizes.graph(), x);
  if (shape == nullptr) return std::nullopt;
  std::map<int64_t, size_t> shown;  // by the elements before them: axes of y that an axis of size 1 may be
  for (size_t axis = 0; axis < y.size(); ++axis) {
    if (y[axis] != 1) continue;
    if (axis == rest) shown[elementsBefore(y, axis)] += shape->size();  // -1 is as many as need be
    if (std::ranges::find(written, static_cast<int64_t>(axis)) == written.end()) ++shown[elementsBefore(y, axis)];
  }
  std::pair cut(elementsBefore(y, rest), elementsBefore(y, rest + 1));
  bool lost = false;
  for (size_t axis = 0; axis < shape->size(); ++axis) {
    if ((*shape)[axis] != 1 || sizes.isFixed(x, axis)) continue;
    const int64_t at = elementsBefore(*shape, axis);
    if (size_t& left = shown[at]; left > 0) {
      --left;
      continue;
    }
    lost = true;
    cut = {std::min(cut.first, at), std::max(cut.second, at)};
  }
  return lost ? std::optional(cut) : std::nullopt;
}

}  // namespace

AxisSize SizeQuestion::of(ValueId value, size_t axis) {
  const Shape* shape = shapeOf(graph_, value);
  if (shape == nullptr || axis >= shape->size()) return {Kind::Free, value, axis};
  const auto& made = graph_.value(value);
  if (graph::isHeld(graph_, value) || made.literal || isFixedInput(value, axis)) return kFixedSize;
  if (depth_ >= kDeepest) {
    ++cutShort_;
    return {Kind::Free, value, axis};
  }
  begin();
  const Axis asked{value, axis};
  const bool lasting = lasts(value);
  for (Answers* known : {&lasting_, &answers_}) {
    const auto found = known->find(asked);
    if (found == known->end()) continue;
    if (asker_) found->second.askedFor.push_back(*asker_);
    return found->second.size;
  }
  const int before = cutShort_;
  const auto outer = std::exchange(asker_, asked);
  ++depth_;
  const AxisSize size = ask(value, axis);
  --depth_;
  asker_ = outer;
  Answer& answer = (lasting && cutShort_ == before ? lasting_ : answers_)[asked];
  answer.size = size;
  if (asker_) answer.askedFor.push_back(*asker_);
  return size;
}

AxisSize SizeQuestion::ask(ValueId value, size_t axis) {
  const AxisSize own{Kind::Free, value, axis};
  // Few readers are asked before what makes the value, and many after it: a stream has its first linear's width, and
  // what each of hundreds of concatenations reads has its own weight's.
  constexpr size_t kFew = 8;
  if (hasWidthOfAWeight(graph_, value, axis, 0, kFew)) return kFixedSize;
  const auto producer = graph_.value(value).producer;
  const bool isMade = producer != kNone && shapeOf(graph_, graph::operandAt(graph_.node(producer), 0)) != nullptr;
  const AxisSize size = isMade ? opRow(graph_.node(producer).kind).size(*this, graph_.node(producer), own) : own;
  const size_t uses = graph_.value(value).uses.size();
  const bool isFixedByOthers =
      size.kind != Kind::Fixed && uses > kFew && hasWidthOfAWeight(graph_, value, axis, kFew, uses);
  return isFixedByOthers ? kFixedSize : size;
}

// Answers from too far away are dropped, so that the next question computes them anew.
void SizeQuestion::begin() {
  if (depth_ > 0) return;
  answers_.clear();
  if (std::exchange(cutShort_, 0) > 0) ranked_.clear();
}

// Not of a value in a body: those are few, and what fixes them may not run.
bool SizeQuestion::lasts(ValueId value) const {
  const auto& made = graph_.value(value);
  return (made.producer == kNone ? made.paramOf : graph_.node(made.producer).block) == 0;
}

void SizeQuestion::forget(const Axis& axis) {
  joined_.clear();
  std::vector<Axis> toForget{axis};
  while (!toForget.empty()) {
    const auto known = lasting_.extract(toForget.back());
    toForget.pop_back();
    if (!known.empty()) toForget.insert(toForget.end(), known.mapped().askedFor.begin(), known.mapped().askedFor.end());
  }
}

void SizeQuestion::added(const Node& node) {
  if (node.block != 0) return;
  for (const ValueId operand : node.operands) {
    const Shape* shape = shapeOf(graph_, operand);
    for (size_t axis = 0; shape != nullptr && axis < shape->size(); ++axis) {
      const auto known = lasting_.find({operand, axis});
      const bool open = known != lasting_.end() && known->second.size.kind != Kind::Fixed;
      if (open && hasWidthOfAWeight(graph_, operand, axis)) forget(known->first);
    }
  }
}

bool SizeQuestion::isBroadcast(ValueId operand, size_t fromLast) {
  const Shape* shape = shapeOf(graph_, operand);
  if (shape == nullptr) return false;
  return shape->size() < fromLast ? hasRankOfProbe(operand) : isFixed(operand, shape->size() - fromLast);
}

bool SizeQuestion::hasRankOfProbe(ValueId value) {
  if (ranksAreDeclared()) return true;
  const auto& made = graph_.value(value);
  if (graph::isHeld(graph_, value) || made.literal || made.declared) return true;
  if (made.producer == kNone) return made.shape && isAssumed(value, made.shape->size() + 1);
  begin();
  if (const auto known = ranked_.find(value); known != ranked_.end()) return known->second;
  if (depth_ >= kDeepest) {
    ++cutShort_;
    return false;
  }
  ++depth_;
  const Node& node = graph_.node(made.producer);
  const bool sizes = node.kind == OpKind::ShapeQuery && !graph::floatAttribute(node, "fill");
  const bool all = std::ranges::all_of(node.operands,
                                       [&](ValueId operand) { return operand == kNoValue || hasRankOfProbe(operand); });
  --depth_;
  return ranked_[value] = sizes || (all && node.blocks.empty());
}

bool SizeQuestion::isFixedCut(const Node& cut) {
  const auto along = graph::intAttribute(cut, "axis");
  const Shape* shape = shapeOf(graph_, cut.operands.at(0));
  if (cut.kind == OpKind::Unbind) return true;
  if (!along || shape == nullptr || *along < 0 || *along >= static_cast<int64_t>(shape->size())) return false;
  const auto axis = static_cast<size_t>(*along);
  const bool sized = !countsFromTheEnd(cut, (*shape)[axis]) || isFixed(cut.operands[0], axis);
  switch (cut.kind) {
    case OpKind::Select:
      return graph::intAttribute(cut, "index") && sized;
    case OpKind::Slice:
      return graph::intAttribute(cut, "start") && graph::intAttribute(cut, "end") && sized &&
             (!mayReachTheEnd(cut) || isFixed(cut.operands[0], axis));
    case OpKind::Split:
      return graph::intsAttribute(cut, "sizes") ||
             (graph::boolAttribute(cut, "divides") && isFixed(cut.operands[0], axis));
    default:
      return false;
  }
}

const SizeQuestion::Joined& SizeQuestion::joinedBy(const Node& concat, size_t axis) {
  const auto [known, isNew] = joined_.try_emplace({concat.outputs[0], axis});
  Joined& joined = known->second;
  if (!isNew) return joined;
  int64_t at = 0;
  for (const ValueId operand : concat.operands) {
    const Shape* shape = shapeOf(graph_, operand);
    if (shape == nullptr || axis >= shape->size()) {
      joined.starts.clear();
      break;
    }
    if (joined.fixed == joined.starts.size() && isFixed(operand, axis)) ++joined.fixed;
    joined.starts.push_back(at);
    at += (*shape)[axis];
  }
  return joined;
}

bool SizeQuestion::isAssumed(ValueId input, size_t fromLast) const {
  return std::ranges::find(graph_.assumed, graph::SizeOfOne{input, static_cast<int>(fromLast)}) != graph_.assumed.end();
}

bool SizeQuestion::isFixedInput(ValueId value, size_t axis) const {
  const auto& made = graph_.value(value);
  if (made.producer != kNone) return false;
  return graph::isSizeDeclared(made, axis) || isAssumed(value, made.shape->size() - axis);
}

bool SizeQuestion::ranksAreDeclared() {
  if (!ranksDeclared_) ranksDeclared_ = graph::areRanksDeclared(graph_);
  return *ranksDeclared_;
}

std::optional<size_t> axisQueried(const Node& query, int64_t element, size_t rank) {
  const auto axes = static_cast<int64_t>(rank);
  const auto bound = [&](std::string_view name, int64_t otherwise) {
    const int64_t at = graph::intAttribute(query, name).value_or(otherwise);
    return std::clamp<int64_t>(at < 0 ? at + axes : at, 0, axes);
  };
  const int64_t start = bound("start", 0), end = bound("end", axes);
  const int64_t axis = element + (element < 0 ? end : start);
  return axis < start || axis >= end ? std::nullopt : std::optional(static_cast<size_t>(axis));
}

AxisSize axisSize(const Graph& graph, ValueId value, size_t axis) { return SizeQuestion(graph).of(value, axis); }

bool isSizeFixed(const Graph& graph, ValueId value, size_t axis) {
  return axisSize(graph, value, axis).kind == Kind::Fixed;
}

bool isBroadcastInEveryRun(const Graph& graph, ValueId operand, size_t fromLast) {
  return SizeQuestion(graph).isBroadcast(operand, fromLast);
}

bool isFixedCut(const Graph& graph, const Node& cut) { return SizeQuestion(graph).isFixedCut(cut); }

AxisSize linearSize(SizeQuestion& sizes, const Node& node, const AxisSize& own) {
  const bool last = own.axis + 1 == shapeOf(sizes.graph(), own.value)->size();
  return last ? sizes.of(graph::operandAt(node, 1), 0) : sizes.of(node.operands[0], own.axis);
}

AxisSize matMulSize(SizeQuestion& sizes, const Node& node, const AxisSize& own) {
  return sizeOfProduct(sizes, node.operands[0], graph::operandAt(node, 1), own);
}

AxisSize addMatMulSize(SizeQuestion& sizes, const Node& node, const AxisSize& own) {
  return sizeOfProduct(sizes, graph::operandAt(node, 1), graph::operandAt(node, 2), own);
}

AxisSize convSize(SizeQuestion& sizes, const Node& node, const AxisSize& own) {
  const ValueId x = node.operands[0], weight = graph::operandAt(node, 1);
  const Shape *in = shapeOf(sizes.graph(), x), *kernel = shapeOf(sizes.graph(), weight);
  if (kernel == nullptr || in->size() != kernel->size() || own.axis >= in->size()) return own;
  if (own.axis == 1) {
    return graph::boolAttribute(node, "transposed") ? sizes.fixedAs(weight, 1, own) : sizes.of(weight, 0);
  }
  return own.axis == 0 ? sizes.of(x, 0) : sizes.fixedAs(x, own.axis, own);
}

AxisSize attentionSize(SizeQuestion& sizes, const Node& node, const AxisSize& own) {
  const ValueId q = node.operands[0];
  const size_t rank = shapeOf(sizes.graph(), own.value)->size();
  if (sizes.graph().value(own.value).output != 0 || shapeOf(sizes.graph(), q)->size() != rank) return own;
  if (own.axis + 1 < rank) return sizes.of(q, own.axis);
  if (const auto projection = graph::intAttribute(node, "projection"))
    return sizes.of(graph::operandAt(node, static_cast<size_t>(*projection)), 0);
  return sizes.of(graph::operandAt(node, 2), own.axis);
}

bool areAxesAsProbed(SizeQuestion& sizes, const Node& reader, std::span<const int64_t> axes) {
  const Graph& graph = sizes.graph();
  const ValueId x = graph::operandAt(reader, 0);
  const Shape* shape = shapeOf(graph, x);
  if (shape == nullptr) return false;
  const bool normalizes = reader.kind == OpKind::LayerNorm || reader.kind == OpKind::RmsNorm;
  if (normalizes && graph::intsAttribute(reader, "normalized_shape")) return true;
  return std::ranges::all_of(axes, [&](int64_t listed) {
    const auto axis = static_cast<size_t>(listed);
    if (axis >= shape->size() || listsAxis(reader, "ones", axis)) return axis < shape->size();
    const int64_t size = (*shape)[axis];
    if (normalizes && size > 1 && hasWeightAlong(graph, reader, *shape, axis)) return true;
    const AxisSize found = sizes.of(x, axis);
    return size == 1 ? found.kind == AxisSize::Kind::Fixed : found.kind != AxisSize::Kind::Torn;
  });
}

std::optional<Pattern> narrowedInEveryRun(const Graph& graph, ValueId operand, const Pattern& pattern,
                                          const Shape& full) {
  const Shape* part = shapeOf(graph, operand);
  const auto dims = part == nullptr || part->size() > full.size() ? std::nullopt : alignTo(pattern, full);
  if (!dims) return std::nullopt;
  for (size_t i = 0; i < full.size(); ++i) {
    if (anySummed((*dims)[i]) && isBroadcastInProbe(*part, full, i) &&
        !isBroadcastInEveryRun(graph, operand, full.size() - i))
      return std::nullopt;
  }
  return narrowToOperand(pattern, full, *part);
}

std::optional<Pattern> widenedInEveryRun(const Graph& graph, ValueId operand, const Pattern& pattern,
                                         const Shape& full) {
  const Shape* part = shapeOf(graph, operand);
  const auto wide = part == nullptr ? std::nullopt : widenFromOperand(pattern, *part, full);
  auto dims = wide ? alignTo(*wide, full) : std::nullopt;
  if (!dims) return std::nullopt;
  for (size_t i = 0; i < full.size(); ++i) {
    if (isBroadcastInProbe(*part, full, i) && !isBroadcastInEveryRun(graph, operand, full.size() - i))
      (*dims)[i] = wholeKept(full[i]);
  }
  return joinDims(*dims);
}

namespace {

// An axis of y, which a Reshape makes of x, with a size read elsewhere: in every run it is an axis of x with the same
// elements before it.
bool isAxisKept(SizeQuestion& sizes, const AxisSize& size, ValueId x, const Shape& y, size_t axis) {
  const Shape* shape = shapeOf(sizes.graph(), x);
  for (size_t i = 0; shape != nullptr && i < shape->size(); ++i) {
    const bool stands = (*shape)[i] == y[axis] && elementsBefore(*shape, i) == elementsBefore(y, axis);
    if (stands && sizes.of(x, i) == size) return true;
  }
  return false;
}

// A Reshape of x writes these sizes of y as numbers, and another run may have another part of x there: what is left for
// -1 depends on it.
bool writesSizesOfInput(SizeQuestion& sizes, ValueId x, const Shape& y, std::span<const int64_t> written) {
  const Shape* shape = shapeOf(sizes.graph(), x);
  if (shape == nullptr) return false;
  return std::ranges::any_of(groupsOf(*shape, y), [&](const AxisGroup& group) {
    return std::ranges::any_of(written, [&](int64_t axis) { return std::ranges::count(group.out, axis) > 0; }) &&
           std::ranges::any_of(group.in, [&](size_t axis) { return !sizes.isFixed(x, axis); });
  });
}

// Adds the axes that follow from -1, written for axis `rest`. written: the axes of y whose sizes are numbers.
void addLeftToARun(SizeQuestion& sizes, ValueId x, const Shape& y, int64_t rest, std::span<const int64_t> written,
                   std::vector<int64_t>& computed) {
  const auto add = [&](int64_t axis) {
    if (std::ranges::find(computed, axis) == computed.end()) computed.push_back(axis);
  };
  if (!computed.empty() || writesSizesOfInput(sizes, x, y, written)) add(rest);
  const auto cut = elementsCutAnew(sizes, x, y, static_cast<size_t>(rest), written);
  if (!cut) return;
  for (size_t axis = 0; axis < y.size(); ++axis) {
    const bool touches = elementsBefore(y, axis) < cut->second && elementsBefore(y, axis + 1) > cut->first;
    if (y[axis] > 1 && touches) add(static_cast<int64_t>(axis));
  }
}

}  // namespace

std::vector<int64_t> computedAxes(SizeQuestion& question, ValueId x, const Shape& y,
                                  const std::vector<ListedSize>& sizes) {
  std::vector<int64_t> computed, written;
  std::optional<int64_t> rest;
  for (size_t i = 0; i < y.size(); ++i) {
    const auto [number, read] = i < sizes.size() ? sizes[i] : ListedSize();
    const auto axis = static_cast<int64_t>(i);
    if (number == -1) rest = axis;
    if (number && number != -1) written.push_back(axis);
    if (number) continue;
    const bool known = read && (question.isFixed(read->value, read->axis) ||
                                isAxisKept(question, question.of(read->value, read->axis), x, y, i));
    if (!known) computed.push_back(axis);
  }
  if (rest) addLeftToARun(question, x, y, *rest, written, computed);
  return computed;
}

std::vector<int64_t> axisJoinedAnew(SizeQuestion& sizes, ValueId x, size_t first, size_t end, int64_t made) {
  const Shape* shape = shapeOf(sizes.graph(), x);
  if (shape == nullptr || first + 1 >= end || end > shape->size()) return {};
  const auto part = std::span(*shape).subspan(first, end - first);
  if (std::ranges::all_of(part, [](int64_t size) { return size == 1; })) return {};
  for (size_t axis = first; axis < end; ++axis) {
    if ((*shape)[axis] == 1 && !sizes.isFixed(x, axis)) return {made};
  }
  return {};
}

bool sumsOverOpenSize(const Graph& graph, const Node& reshape, const Pattern& pattern) {
  const ValueId x = graph::operandAt(reshape, 0);
  const Shape* in = shapeOf(graph, x);
  // A Reshape that only adds or drops axes of size 1 leaves rows as they are.
  if (in == nullptr || graph::boolAttribute(reshape, "ones_only")) return false;
  const auto dims = alignTo(pattern, *in);
  for (size_t axis = 0; axis < in->size(); ++axis) {
    const bool summed = !dims || anySummed((*dims)[axis]);  // rows that end within an axis
    if (summed && !isSizeFixed(graph, x, axis)) return true;
  }
  return false;
}

bool restrictsTornAxis(const Graph& graph, const Node& reshape, const Pattern& pattern) {
  const Shape* in = shapeOf(graph, graph::operandAt(reshape, 0));
  const Shape* out = shapeOf(graph, reshape.outputs[0]);
  if (!graph::intsAttribute(reshape, "computed")) return false;
  const auto dims = in == nullptr || out == nullptr ? std::nullopt : alignTo(pattern, *out);
  if (!dims) return true;
  const auto restricted = [&](size_t axis) {
    return !std::ranges::all_of((*dims)[axis], [](const Factor& factor) { return factor.whole(); });
  };
  return std::ranges::any_of(groupsOf(*in, *out), [&](const AxisGroup& group) {
    return std::ranges::any_of(group.out, [&](size_t axis) { return listsAxis(reshape, "computed", axis); }) &&
           std::ranges::any_of(group.out, restricted);
  });
}

}  // namespace normlens::ops
