#include "core/analysis/streams/stream_finder.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "core/analysis/explain.h"
#include "core/analysis/graph_names.h"
#include "core/graph/queries.h"
#include "core/ops/index_maps.h"

namespace normlens::analysis {
namespace {

// The axis that a pattern sums, all of it, and nothing else.
std::optional<int> channelAxis(const ops::Pattern& pattern, const Shape& shape, int64_t channels) {
  const auto dims = ops::alignTo(pattern, shape);
  if (!dims) return std::nullopt;
  std::optional<int> found;
  for (size_t axis = 0; axis < dims->size(); ++axis) {
    const auto& factors = (*dims)[axis];
    if (std::ranges::none_of(factors, &ops::Factor::summed)) {
      if (!std::ranges::all_of(factors, &ops::Factor::whole)) return std::nullopt;
      continue;
    }
    const bool whole = factors.size() == 1 && factors[0].whole() && factors[0].size == channels;
    if (!whole || found) return std::nullopt;
    found = static_cast<int>(axis);
  }
  return found;
}

bool isPointwise(OpKind kind) {
  switch (kind) {
    case OpKind::Add:
    case OpKind::Sub:
    case OpKind::Mul:
    case OpKind::Div:
    case OpKind::Where:
    case OpKind::MaskedFill:
      return true;
    default:
      return false;
  }
}

// Its result has as many channels as those operands that its zero mean rests on. (A Mix may be a Resize, whose sizes
// the file writes for all axes.)
bool followsWidth(const Node& node) {
  switch (node.kind) {
    case OpKind::Identity:
    case OpKind::Cast:
    case OpKind::Neg:
    case OpKind::Reshape:
    case OpKind::Permute:
    case OpKind::Expand:
    case OpKind::Slice:
    case OpKind::Select:
    case OpKind::Split:
    case OpKind::Unbind:
    case OpKind::Concat:
    case OpKind::Stack:
    case OpKind::Roll:
    case OpKind::Pad:
    case OpKind::Gather:
    case OpKind::Reduce:
    case OpKind::Linear:
    case OpKind::MatMul:
    case OpKind::AddMatMul:
    case OpKind::Einsum:
      return true;
    case OpKind::Conv:
      return graph::intAttribute(node, "groups").value_or(1) == 1;
    default:
      return isPointwise(node.kind);
  }
}

// The basis is another before it than behind: its last channel is special.
bool reordersChannels(const Node& node, int axis) {
  if (node.kind != OpKind::Roll) return false;
  const auto axes = graph::intsAttribute(node, "axes");
  return !axes || std::ranges::find(*axes, axis) != axes->end();
}

class Finder {
 public:
  Finder(const Analysis& analysis, const Plan& plan)
      : analysis_(analysis), claims_(analysis.claims), graph_(analysis.scales.graph()) {
    for (const auto& planned : plan.edits) {
      if (std::holds_alternative<fold::InsertCentering>(planned.edit)) centered_.insert(planned.claim);
      if (std::holds_alternative<fold::DropAddend>(planned.edit)) dropped_.insert(planned.claim);
    }
    for (const int norm : plan.folded) begin(norm);
    while (!open_.empty()) {
      const ValueId value = open_.back();
      open_.pop_back();
      followBack(members_.at(value));
    }
    for (const auto& [value, member] : members_) {
      groups_[member.group].values.push_back({value, member.axis, {}});
      checkReaders(value, member);
      checkOtherParts(value, member);
    }
  }

  std::vector<FoundStream> take() {
    std::map<size_t, FoundStream> found;  // by the first norm's group: norms come in order
    for (size_t g = 0; g < groups_.size(); ++g) {
      FoundStream& stream = found.try_emplace(rootOf(g)).first->second;
      FoundStream& part = groups_[g];
      stream.channels = part.channels;
      const auto append = [](auto& to, auto& from) { to.insert(to.end(), from.begin(), from.end()); };
      append(stream.norms, part.norms);
      append(stream.normReads, part.normReads);
      append(stream.constants, part.constants);
      append(stream.cuts, part.cuts);
      append(stream.written, part.written);
      append(stream.values, part.values);
      stream.adds += part.adds;
      if (stream.refused.empty()) stream.refused = part.refused;
    }
    std::vector<FoundStream> out;
    for (auto& [root, stream] : found) {
      if (stream.adds == 0) continue;
      if (stream.refused.empty() && stream.norms.size() < 2) {
        stream.refused = "its residual sum is read by " + titleOf(stream.norms[0]) +
                         " alone, and the next block reads that norm's output: it is post-norm";
      }
      out.push_back(std::move(stream));
    }
    return out;
  }

 private:
  struct Member {
    ClaimId claim = kNone;
    int axis = 0;
    size_t group = 0;
  };

  void begin(int index) {
    const LayerNorm& norm = analysis_.norms.layerNorms[static_cast<size_t>(index)];
    const ClaimId root = claims_.root(index);
    const auto& shape = graph_.value(norm.input).shape;
    if (norm.axes.size() != 1 || norm.groups > 1 || !shape) return;
    FoundStream group;
    group.channels = (*shape)[static_cast<size_t>(norm.axes[0])];
    if (group.channels < 2 || !axisOf(root, group.channels)) return;
    const ChannelReads reads{norm.input, static_cast<int>(norm.axes[0]), readsOfInput(graph_, norm)};
    group.norms = {index};
    group.normReads = {reads};
    groups_.push_back(std::move(group));
    parents_.push_back(groups_.size() - 1);
    if (centered_.contains(root)) {
      cut(reads, groups_.size() - 1);
    } else {
      meet(root, reads.uses, groups_.size() - 1);
    }
  }

  [[nodiscard]] std::optional<int> axisOf(ClaimId id, int64_t channels) const {
    const auto& shape = graph_.value(claims_[id].value).shape;
    return shape ? channelAxis(claims_[id].pattern, *shape, channels) : std::nullopt;
  }

  size_t rootOf(size_t group) {
    while (parents_[group] != group) group = parents_[group] = parents_[parents_[group]];
    return group;
  }
  // The one that came first stays.
  void join(size_t a, size_t b) {
    a = rootOf(a);
    b = rootOf(b);
    parents_[std::max(a, b)] = std::min(a, b);
  }

  void refuse(size_t group, std::string why) {
    auto& reason = groups_[rootOf(group)].refused;
    if (reason.empty()) reason = std::move(why);
  }

  // These reads are to see the claim's value narrow.
  void meet(ClaimId id, const graph::Uses& uses, size_t group) {
    const Claim& claim = claims_[id];
    const int axis = *axisOf(id, groups_[group].channels);
    const ChannelReads reads{claim.value, axis, uses};
    if (graph_.value(claim.value).constant != kNone) {
      groups_[group].constants.push_back(reads);
      return;
    }
    if (!isCarried(claim, groups_[group].channels, axis)) {
      cut(reads, group);
      return;
    }
    for (const Use& use : uses) narrow_.insert(use);
    const auto [at, isNew] = members_.try_emplace(claim.value, Member{id, axis, group});
    if (isNew) {
      open_.push_back(claim.value);
    } else {
      join(at->second.group, group);
      if (at->second.axis != axis) refuse(group, describeValue(graph_, claim.value) + " is normalized along two axes");
    }
  }

  // These reads begin a stream, and all that begin at one value begin the same.
  void cut(const ChannelReads& reads, size_t group) {
    groups_[group].cuts.push_back(reads);
    const auto [at, isNew] = cutIn_.try_emplace({reads.value, reads.axis}, group);
    if (!isNew) join(at->second, group);
  }

  // A value has a channel less if its operands have. Else it begins a stream, and is brought into its basis behind it.
  [[nodiscard]] bool isCarried(const Claim& claim, int64_t channels, int axis) const {
    const auto& value = graph_.value(claim.value);
    if (claim.kind != Claim::Kind::Derived || value.producer == kNone || !value.opaqueReason.empty()) return false;
    const Node& node = graph_.node(value.producer);
    if (!followsWidth(node) || reordersChannels(node, axis)) return false;
    std::set<ValueId> narrow;
    for (const Need& need : claim.needs) {
      const Claim& on = claims_[need.claim];
      if (!on.pattern.sumsAnything()) continue;  // the same for all channels: dropped, or 0
      const bool gone = on.kind == Claim::Kind::Joint || dropped_.contains(need.claim);
      if (gone || !axisOf(need.claim, channels)) return false;
      narrow.insert(on.value);
    }
    return !narrow.empty() && (!isPointwise(node.kind) || areOthersBroadcast(node, narrow, *value.shape, axis));
  }

  // Operands beside those that are narrow have one element along the channels.
  [[nodiscard]] bool areOthersBroadcast(const Node& node, const std::set<ValueId>& narrow, const Shape& made,
                                        int axis) const {
    const size_t fromLast = made.size() - static_cast<size_t>(axis);
    return std::ranges::all_of(node.operands, [&](ValueId operand) {
      if (operand == graph::kNoValue || narrow.contains(operand)) return true;
      const Shape* shape = ops::shapeOf(graph_, operand);
      return shape != nullptr && (shape->size() < fromLast || (*shape)[shape->size() - fromLast] == 1);
    });
  }

  void followBack(const Member& member) {
    const Claim& claim = claims_[member.claim];
    const Node& node = graph_.node(graph_.value(claim.value).producer);
    FoundStream& group = groups_[member.group];
    if (node.kind == OpKind::Reshape || node.kind == OpKind::Expand)
      group.written.push_back({graph_.value(claim.value).producer, member.axis});
    int computed = 0;
    for (const Need& need : claim.needs) {
      const Claim& on = claims_[need.claim];
      if (!on.pattern.sumsAnything()) continue;
      computed += graph_.value(on.value).constant == kNone ? 1 : 0;
      if (centered_.contains(need.claim)) {
        cut({on.value, *axisOf(need.claim, group.channels), need.through}, member.group);
      } else {
        meet(need.claim, need.through, member.group);
      }
    }
    const bool sum = node.kind == OpKind::Add || node.kind == OpKind::Sub || node.kind == OpKind::AddMatMul;
    if (sum && computed > 1) ++groups_[member.group].adds;
  }

  void checkReaders(ValueId value, const Member& member) {
    for (const Use& use : graph_.value(value).uses) {
      if (narrow_.contains(use)) continue;
      if (use.node == kNone) return refuse(member.group, describeValue(graph_, value) + ", a part of it, is an output");
      const Node& node = graph_.node(use.node);
      if (graph::asksByAxis(node)) {
        groups_[member.group].written.push_back({use.node, member.axis});
        continue;
      }
      return refuse(member.group, describeNode(graph_, use.node) + " reads it" + byWhat(node, use));
    }
  }

  // Everything that an op makes beside it (the other parts of a Split) has a channel less as well.
  void checkOtherParts(ValueId value, const Member& member) {
    const auto producer = graph_.value(value).producer;
    for (const ValueId part : graph_.node(producer).outputs) {
      if (const auto other = members_.find(part); other != members_.end()) {
        join(member.group, other->second.group);
      } else if (!graph_.value(part).uses.empty()) {
        return refuse(member.group, "another part that " + describeNode(graph_, producer) + " makes is read otherwise");
      } else if (unread_.insert(part).second) {
        groups_[member.group].values.push_back({part, member.axis, {}});
      }
    }
  }

  // A norm that stays reads it as it is, others before any norm.
  [[nodiscard]] std::string byWhat(const Node& node, const Use& use) const {
    for (const auto& norm : analysis_.norms.layerNorms) {
      const bool member = norm.node == use.node || std::ranges::find(norm.members, use.node) != norm.members.end();
      if (member) return ", and the plan does not fold that norm";
    }
    if (node.kind == OpKind::Slice || node.kind == OpKind::Split) return ", which takes some of its channels";
    return " without a norm in between";
  }

  [[nodiscard]] std::string titleOf(int norm) const {
    return analysis_.norms.layerNorms[static_cast<size_t>(norm)].title;
  }

  const Analysis& analysis_;
  const Claims& claims_;
  const Graph& graph_;
  std::set<ClaimId> centered_, dropped_;  // at run time
  std::map<ValueId, Member> members_;
  std::map<std::pair<ValueId, int>, size_t> cutIn_;  // by value and axis a group that begins there
  std::set<Use> narrow_;                             // reads of members that see them narrow
  std::set<ValueId> unread_;                         // made beside members
  std::vector<ValueId> open_;
  std::vector<FoundStream> groups_;  // parts of streams
  std::vector<size_t> parents_;      // Each group's parent.
};

}  // namespace

std::vector<FoundStream> findStreams(const Analysis& analysis, const Plan& plan) {
  return Finder(analysis, plan).take();
}

}  // namespace normlens::analysis
