#include "core/ops/axis_size.h"

#include <algorithm>

#include "core/graph/queries.h"
#include "core/ops/index_maps.h"
#include "core/ops/rules.h"
#include "core/ops/size_question.h"
#include "core/ops/weight_width.h"

namespace normlens::ops {

using graph::Graph;
using graph::kNone;
using graph::kNoValue;
using graph::Node;
using graph::OpKind;
using graph::Shape;
using graph::ValueId;
using Kind = AxisSize::Kind;

namespace {

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
  if (hasWidthOfAWeight(graph_, value, axis)) return kFixedSize;
  const auto producer = graph_.value(value).producer;
  if (producer == kNone) return own;
  const Node& node = graph_.node(producer);
  return shapeOf(graph_, graph::operandAt(node, 0)) == nullptr ? own : opRow(node.kind).size(*this, node, own);
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

}  // namespace normlens::ops
