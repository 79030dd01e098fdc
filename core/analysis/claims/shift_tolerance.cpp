#include "core/analysis/claims/shift_tolerance.h"

#include <utility>

#include "core/analysis/claims/grouped.h"
#include "core/analysis/graph_names.h"
#include "core/graph/contains.h"
#include "core/ops/contraction.h"
#include "core/ops/index_maps.h"

namespace normlens::analysis {

using ops::Pattern;
using ops::Shift;

Pattern alongRows(const Shape& shape) {
  const auto last = static_cast<int64_t>(shape.size()) - 1;
  return Pattern::overAxes(shape, {&last, 1});
}

ShiftTolerance::ShiftTolerance(const graph::Graph& graph, const std::vector<LayerNorm>& norms,
                               const RestoredReads& restored)
    : graph_(graph), restored_(restored), sizes_(graph) {
  constexpr size_t kUsualPerNorm = 16;
  entries_.reserve(kUsualPerNorm * norms.size());
  for (const LayerNorm& norm : norms) {
    if (!norm.asOne || !norm.blockedReason.empty()) continue;
    for (const NodeId member : norm.members) asOne_.emplace(member, &norm);
  }
}

bool ShiftTolerance::absorbedByNorm(int shifted, const Use& use) const {
  const auto found = asOne_.find(use.node);
  if (found == asOne_.end() || found->second->input != index_.value(shifted)) return false;
  const auto& shape = graph_.value(index_.value(shifted)).shape;
  return shape && index_.pattern(shifted).coversGroupsOf(Pattern::overAxes(*shape, found->second->axes));
}

bool ShiftTolerance::isRestored(int shifted, const Use& use) const {
  if (!restored_.contains(use)) return false;
  const auto& shape = graph_.value(index_.value(shifted)).shape;
  return shape && !shape->empty() && index_.pattern(shifted).coversGroupsOf(alongRows(*shape));
}

Shift ShiftTolerance::shiftOf(int shifted, const Use& use) {
  if (isRestored(shifted, use)) return Shift::absorbed();
  const Pattern& pattern = index_.pattern(shifted);
  if (use.node != kNone) {
    if (absorbedByNorm(shifted, use)) return Shift::absorbed();
    const auto& node = graph_.node(use.node);
    return ops::opRow(node.kind).shift(sizes_, node, use.operand, pattern);
  }
  const auto owner = graph_.block(use.block).owner;
  if (owner == kNone) return Shift::refused("it is an output of the model");
  return shiftOfReturned(shifted, graph_.node(owner), use);
}

// A loop's body returns [condition, carried...] and takes [iteration, carried...].
Shift ShiftTolerance::shiftOfReturned(int shifted, const graph::Node& owner, const Use& use) const {
  const auto index = static_cast<size_t>(use.operand);
  const bool loops = owner.kind == graph::OpKind::Loop;
  if (loops && index == 0) return Shift::refused("the shifted values decide whether the loop continues");
  std::vector<ValueId> becomes{owner.outputs.at(loops ? index - 1 : index)};
  if (loops) becomes.push_back(graph_.block(use.block).params.at(index));
  const graph::Shape* shape = ops::shapeOf(graph_, index_.value(shifted));
  std::vector<ops::Demand> carried;
  for (const ValueId value : becomes) {
    const graph::Shape* other = ops::shapeOf(graph_, value);
    if (shape == nullptr || other == nullptr || *shape != *other)
      return Shift::refused("its shape is not known or differs from one branch or pass to the next");
    carried.push_back({value, index_.pattern(shifted)});
  }
  return Shift::carried(std::move(carried));
}

void ShiftTolerance::expand(int id) {
  Entry entry;
  for (const Use& use : graph_.value(index_.value(id)).uses) {
    Shift shift = shiftOf(id, use);
    Reading reading{use, use.node != kNone ? use.node : graph_.block(use.block).owner, nullptr};
    if (shift.verdict == Shift::Verdict::Refused)
      reading.notices = std::make_shared<const std::string>(std::move(shift.reason));
    for (const auto& output : shift.outputs)
      entry.carried.push_back({static_cast<int>(entry.readings.size()), index_.number(output)});
    entry.readings.push_back(std::move(reading));
  }
  entries_.push_back(std::move(entry));
}

bool ShiftTolerance::refuse(int id, const Notice& notice) {
  Entry& entry = at(id);
  if (entry.notices.reason) return false;
  entry.notices = notice;
  return true;
}

// A linear layer that sums over the channels passes on what is constant over other axes alone: where that is noticed,
// it is the one to name. So is what puts the channels beside others, over which a norm then takes one mean.
ShiftTolerance::Notice ShiftTolerance::noticeBehind(int id, const Carried& carried) const {
  const NodeId node = entries_[static_cast<size_t>(id)].readings[static_cast<size_t>(carried.reading)].use.node;
  const Notice& notice = entries_[static_cast<size_t>(carried.entry)].notices;
  if (node == kNone) return notice;
  const Pattern &before = index_.pattern(id), &behind = index_.pattern(carried.entry);
  if (behind.groupSize() < before.groupSize() && ops::contractionOf(graph_, graph_.node(node)))
    return {std::make_shared<const std::string>("it reads the shifted channels"), node};
  const bool isJoined =
      graph_.node(node).kind == graph::OpKind::Concat && before.wholeRegion() && !behind.wholeRegion();
  if (isJoined && notice.node != kNone && graph_.node(notice.node).kind == graph::OpKind::LayerNorm)
    return {std::make_shared<const std::string>("it joins them with others, and a norm takes one mean of all"), node};
  return notice;
}

// Everything starts out tolerant; what is refused makes all that depends on it refused.
void ShiftTolerance::settle(int first) {
  const auto count = static_cast<int>(entries_.size());
  std::vector<std::pair<int, std::pair<int, Carried>>> members;
  std::vector<int> queue;
  const auto spoil = [&](int id, const Notice& notice) {
    if (refuse(id, notice)) queue.push_back(id);
  };
  for (int id = first; id < count; ++id) {
    const auto& value = graph_.value(index_.value(id));
    if (!value.opaqueReason.empty())
      spoil(id, {std::make_shared<const std::string>(value.opaqueReason), value.producer});
    for (const Reading& reading : at(id).readings) {
      if (!reading.tolerant()) spoil(id, {reading.notices, reading.node});
    }
    for (const Carried& carried : at(id).carried) {
      if (carried.entry >= first) members.push_back({carried.entry - first, {id, carried}});
      // Entries settled earlier may already be refused.
      else if (at(carried.entry).notices.reason)
        spoil(id, noticeBehind(id, carried));
    }
  }
  const Grouped<std::pair<int, Carried>> dependents(static_cast<size_t>(count - first), members);
  for (size_t next = 0; next < queue.size(); ++next) {  // in this order the nearest reader that notices is the reason
    for (const auto& [dependent, carried] : dependents[static_cast<size_t>(queue[next] - first)])
      spoil(dependent, noticeBehind(dependent, carried));
  }
  for (int id = first; id < count; ++id) settleReadings(id);
}

// A shift that is noticed behind a reading is noticed by it.
void ShiftTolerance::settleReadings(int id) {
  Entry& entry = at(id);
  for (const Carried& carried : entry.carried) {
    Reading& reading = entry.readings[static_cast<size_t>(carried.reading)];
    if (!at(carried.entry).notices.reason || !reading.tolerant()) continue;
    const Notice notice = noticeBehind(id, carried);
    reading.notices = notice.reason;
    reading.node = notice.node;
  }
  if (graph_.value(index_.value(id)).opaqueReason.empty()) return;
  for (Reading& reading : entry.readings) {
    if (reading.tolerant()) reading.notices = entry.notices.reason;
  }
}

const ShiftTolerance::Readings& ShiftTolerance::readings(ValueId value, const Pattern& shift) {
  const auto first = static_cast<int>(entries_.size());
  const int id = index_.number({value, shift});
  if (id >= first) {
    while (entries_.size() < index_.size()) expand(static_cast<int>(entries_.size()));
    settle(first);
  }
  return at(id).readings;
}

std::set<ValueId> ShiftTolerance::reachedFrom(const std::vector<Start>& starts) {
  std::set<ValueId> reached;
  std::set<int> seen;
  std::vector<int> open;
  const auto follow = [&](int id, const auto& counts) {
    const Entry& entry = at(id);
    for (const Carried& carried : entry.carried) {
      if (!counts(entry.readings[static_cast<size_t>(carried.reading)].use)) continue;
      reached.insert(index_.value(carried.entry));
      if (seen.insert(carried.entry).second) open.push_back(carried.entry);
    }
  };
  for (const Start& start : starts) {
    static_cast<void>(readings(start.value, start.shift));
    follow(index_.number({start.value, start.shift}), [&](const Use& use) { return contains(start.seenBy, use); });
  }
  while (!open.empty()) {
    const int id = open.back();
    open.pop_back();
    follow(id, [](const Use&) { return true; });
  }
  return reached;
}

}  // namespace normlens::analysis
