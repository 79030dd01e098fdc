#include "core/analysis/claims/claims.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>
#include <vector>

#include "core/analysis/claims/finite_weights.h"
#include "core/analysis/graph_names.h"
#include "core/graph/queries.h"
#include "core/ops/pattern.h"
#include "core/ops/rules.h"

namespace normlens::analysis {

using ops::Demand;
using ops::Pattern;
using ops::ZeroMean;

namespace {

// Addends and fills that go away with a norm's mean: values that are constant along its axes.

// Decides for one graph, which outlives it. Thread: one at a time.
class DroppedAddends {
 public:
  DroppedAddends(const graph::Graph& graph, FiniteWeights& weights) : graph_(graph), weights_(weights) {}

  // To have 0 in the place of `id` is a shift of it with this pattern, for all reads that tolerate one; these are
  // `uses`. A tensor of the file is none of them: it is centered itself. Nor is what the file makes infinite or NaN,
  // which 0 would hide; what overflows in a run alone is not looked for.
  [[nodiscard]] bool mayDrop(graph::ValueId id, const ops::Pattern& pattern, const graph::Uses& uses);

 private:
  // Below a softmax -infinity masks positions and is gone behind it.
  struct Source {
    graph::ValueId value = graph::kNoValue;
    bool masks = false;
    auto operator<=>(const Source&) const = default;
  };
  [[nodiscard]] bool isMadeOfFinite(graph::ValueId value);
  [[nodiscard]] bool isFinite(const Source& source);
  [[nodiscard]] bool isFinite(const graph::TensorView& held, bool masks);
  [[nodiscard]] std::vector<Source> sourcesOf(const Source& source) const;

  const graph::Graph& graph_;
  FiniteWeights& weights_;
  std::set<Source> finite_;
};

constexpr int64_t kLargestMask = int64_t{1} << 24;
constexpr size_t kMaskOfAttention = 3;

bool isPassable(double number, bool masks) {
  return std::isfinite(number) || (masks && std::isinf(number) && number < 0);
}

// A mean that is subtracted from what it is the mean of: no addend, but what makes the difference zero-mean.
bool isMeanOfCentering(const Graph& graph, const graph::Use& use) {
  return use.node != kNone && use.operand == 1 && ops::explicitCentering(graph, graph.node(use.node));
}

bool DroppedAddends::isFinite(const graph::TensorView& held, bool masks) {
  if (!graph::isFloat(held.dtype) || weights_.isFinite(held)) return true;
  if (!masks || graph::elementCount(held.shape).value_or(kLargestMask + 1) > kLargestMask) return false;
  const auto numbers = graph::toDoubles(held);
  return numbers && std::ranges::all_of(*numbers, [](double number) { return isPassable(number, true); });
}

// Checks the value itself; what it is computed from is checked apart.
bool DroppedAddends::isFinite(const Source& source) {
  const auto& value = graph_.value(source.value);
  if (value.literal) return isPassable(*value.literal, source.masks);
  if (value.constant != kNone) return isFinite(graph_.constant(value.constant).view, source.masks);
  if (value.producer == kNone) return true;
  const auto fill = graph::floatAttribute(graph_.node(value.producer), "fill");
  return !fill || isPassable(*fill, source.masks);
}

std::vector<DroppedAddends::Source> DroppedAddends::sourcesOf(const Source& source) const {
  const auto& value = graph_.value(source.value);
  const auto owner = value.producer == kNone && value.paramOf != kNone ? graph_.block(value.paramOf).owner : kNone;
  const auto maker = value.producer != kNone ? value.producer : owner;
  if (maker == kNone) return {};
  const Node& node = graph_.node(maker);
  if (node.kind == OpKind::ShapeQuery) return {};
  std::vector<Source> sources;
  for (size_t i = 0; i < node.operands.size(); ++i) {
    const bool masks =
        source.masks || node.kind == OpKind::Softmax || (node.kind == OpKind::Attention && i == kMaskOfAttention);
    if (node.operands[i] != kNoValue) sources.push_back({node.operands[i], masks});
  }
  for (const auto block : node.blocks) {
    for (const ValueId returned : graph_.block(block).returns) sources.push_back({returned, source.masks});
  }
  return sources;
}

bool DroppedAddends::isMadeOfFinite(ValueId value) {
  std::set<Source> seen{{value, false}};
  std::vector<Source> open{{value, false}};
  while (!open.empty()) {
    const Source source = open.back();
    open.pop_back();
    if (!isFinite(source)) return false;
    for (const Source& from : sourcesOf(source)) {
      const auto dtype = graph_.value(from.value).dtype;
      const bool counts = graph::isFloat(dtype) || dtype == graph::DType::Unknown;
      if (counts && !finite_.contains(from) && seen.insert(from).second) open.push_back(from);
    }
  }
  finite_.merge(seen);
  return true;
}

bool DroppedAddends::mayDrop(ValueId id, const ops::Pattern& pattern, const graph::Uses& uses) {
  const auto& value = graph_.value(id);
  if (value.literal) return std::isfinite(*value.literal);
  if (value.constant != kNone || !value.opaqueReason.empty()) return false;
  if (!value.shape || !graph::isFloat(value.dtype) || !pattern.wholeRegion()) return false;
  // A value that a loop carries has no single place, nor has one that exists only within an operator of the file.
  if (value.producer == kNone ? value.paramOf != 0 : graph::boolAttribute(graph_.node(value.producer), "inside"))
    return false;
  if (std::ranges::any_of(uses, [&](const graph::Use& use) { return isMeanOfCentering(graph_, use); })) return false;
  return ops::isConstantAlong(graph_, id, pattern) && isMadeOfFinite(id);
}

// Far above what real models need (a 10,000-node model has a few thousand); a guard against hostile files.
constexpr size_t kMaxClaims = 2'000'000;

// Constants with more elements are not searched for one that is not 0.
constexpr int64_t kLargestZero = 1 << 16;

class Builder {
 public:
  Builder(const Graph& graph, const std::vector<LayerNorm>& norms, const RestoredReads& restored,
          FiniteWeights& weights, std::vector<Claim>& claims)
      : graph_(graph),
        restored_(restored),
        claims_(claims),
        tolerance_(graph, norms, restored),
        addends_(graph, weights) {}

  ClaimId claim(const Demand& demand) {
    const auto number = static_cast<size_t>(index_.number(demand));
    if (number == claimOf_.size()) {
      claimOf_.push_back(static_cast<ClaimId>(claims_.size()));
      Claim fresh;
      fresh.value = demand.value;
      fresh.pattern = demand.pattern;
      claims_.push_back(std::move(fresh));
    }
    return claimOf_[number];
  }

  // Expands every claim made so far and those that this makes.
  Status expandAll(const Task& task) {
    for (; next_ < claims_.size(); ++next_) {
      if (next_ % 1024 == 0) {
        RETURN_IF_ERROR(task.check());
      }
      if (claims_.size() > kMaxClaims) return fail(ErrorCode::Unsupported, "the graph is too entangled to analyze");
      const auto id = static_cast<ClaimId>(next_);
      if (settled_.contains(id)) continue;
      const Demand demand{claims_[next_].value, claims_[next_].pattern};
      readings(id, demand);
      expand(id, demand);
      findDroppable(id);
    }
    return {};
  }

 private:
  void readings(ClaimId id, const Demand& demand) {
    Claim& claim = claims_[static_cast<size_t>(id)];
    for (const auto& reading : tolerance_.readings(demand.value, demand.pattern)) {
      if (reading.tolerant()) {
        claim.tolerantUses.push_back(reading.use);
        continue;
      }
      if (claim.otherUses.empty()) {
        claim.otherReason = reading.notices;
        claim.otherNode = reading.node;
      }
      claim.otherUses.push_back(reading.use);
    }
  }

  void refuse(ClaimId id, std::string reason) {
    Claim& claim = claims_[static_cast<size_t>(id)];
    claim.kind = Claim::Kind::Refused;
    claim.reason = std::move(reason);
  }

  void expand(ClaimId id, const Demand& made) {
    const auto& pattern = made.pattern;
    const auto& value = graph_.value(made.value);
    if (!value.opaqueReason.empty()) return refuse(id, value.opaqueReason);
    if (value.literal) return literal(id, *value.literal);
    if (value.constant != kNone) return constant(id, graph_.constant(value.constant));
    if (value.paramOf != kNone) return parameter(id);
    if (value.producer == kNone) return refuse(id, "nothing is known of it");
    const auto& node = graph_.node(value.producer);
    // "It must be 0 everywhere" is true of no other computed value.
    if (!pattern.sumsAnything() && !ops::makesZeros(node))
      return refuse(id, "it is an addend that is the same for all channels of the norm");
    const ZeroMean answer = ops::opRow(node.kind).zeroMean(tolerance_.sizes(), node, value.output, pattern);
    if (answer.verdict == ZeroMean::Verdict::Refused) return refuse(id, answer.reason);
    claims_[static_cast<size_t>(id)].kind =
        answer.verdict == ZeroMean::Verdict::Proven ? Claim::Kind::Proven : Claim::Kind::Derived;
    claims_[static_cast<size_t>(id)].needs.reserve(answer.needs.size());
    // A read by the node, or what one of its blocks returns.
    const auto& blocks = node.blocks;
    const auto isThrough = [&](const Use& use) {
      return use.node == value.producer ||
             (use.node == kNone && std::find(blocks.begin(), blocks.end(), use.block) != blocks.end());
    };
    for (const Demand& demand : answer.needs) need(id, demand, isThrough);
    for (const auto& members : answer.jointly) joint(id, members);
  }

  void literal(ClaimId id, double number) {
    if (!std::isfinite(number)) return refuse(id, "it is not finite");
    if (number != 0) return refuse(id, "it is a number other than 0");
    claims_[static_cast<size_t>(id)].kind = Claim::Kind::Proven;
  }

  void constant(ClaimId id, const graph::Constant& constant) {
    Claim& claim = claims_[static_cast<size_t>(id)];
    if (!constant.volatileReason.empty()) return refuse(id, constant.volatileReason);
    if (graph::isReadWider(graph_, claim.value)) {
      return refuse(id, "it is stored as " + std::string(graph::dtypeName(constant.view.dtype)) +
                            " and read in a wider type: centering would round it");
    }
    // A fresh bias needs no edit.
    if (graph::isZero(constant.view, kLargestZero)) {
      claim.kind = Claim::Kind::Proven;
    } else if (graph::isFloat(constant.view.dtype)) {
      claim.kind = Claim::Kind::Constant;
    } else {
      refuse(id, "it holds no floating-point numbers");
    }
  }

  // Derived values lead to those that may be dropped; a value that an Expand widens is better dropped behind it.
  void findDroppable(ClaimId id) {
    Claim& claim = claims_[static_cast<size_t>(id)];
    const auto producer = graph_.value(claim.value).producer;
    const bool widened = producer != kNone && graph_.node(producer).kind == graph::OpKind::Expand;
    if (claim.kind != Claim::Kind::Refused && !widened) return;
    claim.droppable = addends_.mayDrop(claim.value, claim.pattern, claim.tolerantUses);
  }

  // A model input, or what a loop carries from one pass to the next.
  void parameter(ClaimId id) {
    const auto& value = graph_.value(claims_[static_cast<size_t>(id)].value);
    const auto& block = graph_.block(value.paramOf);
    if (block.owner == kNone) return refuse(id, "it is an input of the model");
    const auto& loop = graph_.node(block.owner);
    const auto index = static_cast<size_t>(value.param);
    if (loop.kind != graph::OpKind::Loop || index == 0 || index >= block.returns.size()) {
      return refuse(id, "it is set anew in each pass of a loop");
    }
    const Pattern pattern = claims_[static_cast<size_t>(id)].pattern;
    for (const ValueId source : {loop.operands.at(index + 1), block.returns[index]}) {
      const auto* shape = source == kNoValue ? nullptr : &graph_.value(source).shape;
      if (shape == nullptr || *shape != value.shape)
        return refuse(id, "its shape changes from one pass of a loop to the next");
    }
    claims_[static_cast<size_t>(id)].kind = Claim::Kind::Derived;
    const Use given{block.owner, static_cast<int>(index) + 1, kNone};
    const Use returned{kNone, static_cast<int>(index), value.paramOf};
    need(id, {loop.operands.at(index + 1), pattern}, [&](const Use& use) { return use == given; });
    need(id, {block.returns[index], pattern}, [&](const Use& use) { return use == returned; });
  }

  // isThrough: by this read the value reaches what the claim is about.
  template <class IsThrough>
  void need(ClaimId id, const Demand& demand, const IsThrough& isThrough) {
    // The tolerance itself shows whether the reads in between are tolerant: the target may not be expanded yet.
    const auto& readings = tolerance_.readings(demand.value, demand.pattern);
    const auto& uses = graph_.value(demand.value).uses;
    graph::Uses through;
    bool tolerant = true;
    for (size_t i = 0; i < uses.size(); ++i) {
      if (!isThrough(uses[i])) continue;
      if (restored_.contains(uses[i])) return refuse(id, "its mean is given back where it is read");
      through.push_back(uses[i]);
      tolerant = tolerant && readings[i].tolerant();
    }
    tolerant = tolerant && !through.empty();
    const ClaimId target = claim(demand);
    claims_[static_cast<size_t>(id)].needs.push_back({target, tolerant, std::move(through)});
  }

  void joint(ClaimId id, const std::vector<Demand>& listed) {
    const auto members = std::make_shared<const std::vector<Demand>>(listed);
    for (const Demand& member : *members) {
      // Its own key: the same constant may also be needed on its own.
      const auto target = static_cast<ClaimId>(claims_.size());
      Claim fresh;
      fresh.kind = Claim::Kind::Joint;
      fresh.value = member.value;
      fresh.pattern = member.pattern;
      fresh.members = members;
      fresh.tolerantUses = graph_.value(member.value).uses;
      fresh.reason = jointObstacle(id, member.value);
      if (!fresh.reason.empty()) fresh.kind = Claim::Kind::Refused;
      claims_.push_back(std::move(fresh));
      settled_.insert(target);
      claims_[static_cast<size_t>(id)].needs.push_back({target, true, graph_.value(member.value).uses});
    }
  }

  // Returns why a member must not be centered with the others; empty when it may.
  std::string jointObstacle(ClaimId concat, ValueId member) {
    const auto& value = graph_.value(member);
    const auto& constant = graph_.constant(value.constant);
    if (!value.opaqueReason.empty()) return value.opaqueReason;
    if (!constant.volatileReason.empty()) return constant.volatileReason;
    if (!graph::isFloat(constant.view.dtype)) return "it holds no floating-point numbers";
    // The common shift reaches the concatenation as one, at every position; whether that is tolerated is decided there.
    const ValueId joined = claims_[static_cast<size_t>(concat)].value;
    const auto& shape = *graph_.value(joined).shape;
    const auto last = static_cast<int64_t>(shape.size()) - 1;
    for (const auto& reading : tolerance_.readings(joined, Pattern::overAxes(shape, {&last, 1}))) {
      if (!reading.tolerant()) return "the concatenation is read by something else than norms";
    }
    return {};
  }

  const Graph& graph_;
  const RestoredReads& restored_;
  std::vector<Claim>& claims_;
  ShiftTolerance tolerance_;
  DroppedAddends addends_;
  DemandIndex index_;
  std::vector<ClaimId> claimOf_;  // by number in the index
  std::set<ClaimId> settled_;     // joint claims: complete as they are made
  size_t next_ = 0;
};

}  // namespace

Result<Claims> Claims::build(const Graph& graph, const std::vector<LayerNorm>& norms, FiniteWeights& weights,
                             const Task& task, const RestoredReads& restored) {
  Claims out;
  constexpr size_t kUsualPerNorm = 8;
  out.claims_.reserve(kUsualPerNorm * norms.size());
  Builder builder(graph, norms, restored, weights, out.claims_);
  for (const LayerNorm& norm : norms) {
    const auto& shape = graph.value(norm.input).shape;
    const bool known = shape && !norm.axes.empty() && norm.blockedReason.empty();
    out.roots_.push_back(known ? builder.claim({norm.input, patternOf(*shape, norm)}) : kNone);
    // One norm's claims after another's: what they read lies close together.
    RETURN_IF_ERROR(builder.expandAll(task));
  }
  weights.refuseOthers(graph, out.claims_);
  for (size_t i = 0; i < norms.size(); ++i) {
    if (out.roots_[i] == kNone) {
      out.rootTolerant_.push_back(false);
      continue;
    }
    const auto& uses = out[out.roots_[i]].otherUses;
    const auto& members = norms[i].members;
    out.rootTolerant_.push_back(std::none_of(uses.begin(), uses.end(), [&](const Use& use) {
      return std::find(members.begin(), members.end(), use.node) != members.end();
    }));
  }
  return out;
}

}  // namespace normlens::analysis
