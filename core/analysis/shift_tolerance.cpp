#include "core/analysis/claims.h"

namespace normlens::analysis {

using graph::kNone;
using graph::NodeId;
using graph::Use;
using graph::ValueId;
using ops::Pattern;
using ops::Shift;

int ShiftTolerance::entry(ValueId value, const Pattern& pattern) {
  const auto [at, added] = index_.try_emplace({value, pattern}, static_cast<int>(entries_.size()));
  if (added) {
    Entry fresh;
    fresh.value = value;
    fresh.pattern = pattern;
    entries_.push_back(std::move(fresh));
  }
  return at->second;
}

Shift ShiftTolerance::shiftOf(const Use& use, const Pattern& pattern) const {
  if (use.node != kNone) {
    const auto& node = graph_.node(use.node);
    return ops::opRow(node.kind).shift(graph_, node, use.operand, pattern);
  }
  const auto owner = graph_.block(use.block).owner;
  if (owner == kNone) return Shift::refused("it is an output of the model");
  const auto& node = graph_.node(owner);
  auto index = static_cast<size_t>(use.operand);
  if (node.kind == graph::OpKind::If) return Shift::carried({{node.outputs.at(index), pattern}});
  if (index == 0) return Shift::refused("the shifted values decide whether the loop goes on");
  // A loop's body returns [condition, carried...] and takes [iteration, carried...].
  return Shift::carried({{node.outputs.at(index - 1), pattern}, {graph_.block(use.block).params.at(index), pattern}});
}

void ShiftTolerance::expand(int id) {
  const ValueId value = entries_[static_cast<size_t>(id)].value;
  const Pattern pattern = entries_[static_cast<size_t>(id)].pattern;
  for (const Use& use : graph_.value(value).uses) {
    Reading reading{use, true, {}, use.node};
    std::vector<int> carried;
    Shift shift = shiftOf(use, pattern);
    if (shift.verdict == Shift::Verdict::Refused) {
      reading.tolerant = false;
      reading.reason = std::move(shift.reason);
    }
    for (const auto& output : shift.outputs) {
      const int target = entry(output.value, output.pattern);
      entries_[static_cast<size_t>(target)].dependents.push_back(id);
      carried.push_back(target);
    }
    Entry& current = entries_[static_cast<size_t>(id)];
    current.readings.push_back(std::move(reading));
    current.carriedTo.push_back(std::move(carried));
  }
}

void ShiftTolerance::refuse(int id, const std::string& reason, NodeId node, std::vector<int>& queue) {
  Entry& current = entries_[static_cast<size_t>(id)];
  if (!current.tolerant) return;
  current.tolerant = false;
  current.reason = reason;
  current.node = node;
  queue.push_back(id);
}

// Everything starts out tolerant; what is refused makes all that depends on it refused.
void ShiftTolerance::settle(int first) {
  std::vector<int> queue;
  for (int id = first; id < static_cast<int>(entries_.size()); ++id) {
    const Entry& current = entries_[static_cast<size_t>(id)];
    const auto& opaque = graph_.value(current.value).opaqueReason;
    if (!opaque.empty()) refuse(id, opaque, graph_.value(current.value).producer, queue);
    for (const Reading& reading : current.readings) {
      if (!reading.tolerant) refuse(id, reading.reason, reading.node, queue);
    }
    // Entries settled earlier may already be refused.
    for (const auto& targets : current.carriedTo) {
      for (const int target : targets) {
        const Entry& carried = entries_[static_cast<size_t>(target)];
        if (target < first && !carried.tolerant) refuse(id, carried.reason, carried.node, queue);
      }
    }
  }
  while (!queue.empty()) {
    const int id = queue.back();
    queue.pop_back();
    const std::string reason = entries_[static_cast<size_t>(id)].reason;
    const NodeId node = entries_[static_cast<size_t>(id)].node;
    const std::vector<int> dependents = entries_[static_cast<size_t>(id)].dependents;
    for (const int dependent : dependents) refuse(dependent, reason, node, queue);
  }
}

void ShiftTolerance::explore(int first) {
  for (int id = first; id < static_cast<int>(entries_.size()); ++id) expand(id);
  settle(first);
}

std::vector<ShiftTolerance::Reading> ShiftTolerance::readings(ValueId value, const Pattern& pattern) {
  const int first = static_cast<int>(entries_.size());
  const int id = entry(value, pattern);
  if (id >= first) explore(first);
  const Entry& current = entries_[static_cast<size_t>(id)];
  std::vector<Reading> out = current.readings;
  const auto& opaque = graph_.value(value).opaqueReason;
  for (size_t i = 0; i < out.size(); ++i) {
    for (const int target : current.carriedTo[i]) {
      const Entry& carried = entries_[static_cast<size_t>(target)];
      if (carried.tolerant || !out[i].tolerant) continue;
      out[i].tolerant = false;
      out[i].reason = carried.reason;
      out[i].node = carried.node;
    }
    if (!opaque.empty() && out[i].tolerant) {
      out[i].tolerant = false;
      out[i].reason = opaque;
    }
  }
  return out;
}

}  // namespace normlens::analysis
