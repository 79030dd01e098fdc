#include "core/formats/edit/dropped_reads.h"

#include "core/graph/queries.h"
#include "core/ops/axis_size.h"
#include "core/ops/rules.h"

namespace normlens::formats {
namespace {

using graph::Graph;
using graph::OpKind;
using graph::ValueId;
using ops::AxisSize;

// In some run the first, broadcast against the second, may be the larger along an axis.
bool mayWiden(const Graph& graph, ValueId broadcast, ValueId value) {
  const auto& from = *graph.value(broadcast).shape;
  const auto& to = *graph.value(value).shape;
  if (from.size() > to.size()) return true;
  for (size_t i = 0; i < from.size(); ++i) {
    const size_t axis = i + to.size() - from.size();
    const AxisSize mine = ops::axisSize(graph, broadcast, i), theirs = ops::axisSize(graph, value, axis);
    const bool single = mine.kind == AxisSize::Kind::Fixed && from[i] == 1;
    const bool wide = theirs.kind == AxisSize::Kind::Fixed && to[axis] > 1;
    const bool same = mine.kind == AxisSize::Kind::Free && mine == theirs;
    if (!single && !wide && !same) return true;
  }
  return false;
}

}  // namespace

// A plan file may name a block of a node's read, too.
DroppedReads::Key DroppedReads::keyOf(const graph::Use& read) {
  return {read.node, read.operand, read.node == graph::kNone ? read.block : graph::kNone};
}

DroppedReads::DroppedReads(const fold::FoldPlan& plan) {
  for (const auto& edit : plan.edits) {
    const auto* drop = std::get_if<fold::DropAddend>(&edit);
    if (drop == nullptr) continue;
    for (const auto& use : drop->uses) open_.insert(keyOf(use));
  }
}

std::optional<graph::Use> DroppedReads::next() {
  if (open_.empty()) return std::nullopt;
  const auto [node, operand, block] = *open_.begin();
  open_.erase(open_.begin());
  return graph::Use{node, operand, block};
}

std::optional<size_t> DroppedReads::resultWithout(const Graph& graph, const graph::Use& read) const {
  if (read.node == graph::kNone) return std::nullopt;
  const auto& node = graph.node(read.node);
  const bool adds = node.kind == OpKind::Add || node.kind == OpKind::Sub;
  if (!adds || node.operands.size() != 2 || read.operand > 1) return std::nullopt;
  const int other = 1 - read.operand;
  if (open_.contains(keyOf({read.node, other, graph::kNone}))) return std::nullopt;
  if (other == 1 && (node.kind == OpKind::Sub || !ops::plainAlpha(node))) return std::nullopt;
  const ValueId stays = node.operands[static_cast<size_t>(other)];
  const ValueId goes = node.operands[static_cast<size_t>(read.operand)];
  if (stays == graph::kNoValue || goes == graph::kNoValue || !graph.value(goes).shape) return std::nullopt;
  if (!graph::sameTypeAndShape(graph, stays, node.outputs[0]) || mayWiden(graph, goes, stays)) return std::nullopt;
  return static_cast<size_t>(other);
}

}  // namespace normlens::formats
