// Prices each cut of Planner, and decides which may be made at all.
#include <algorithm>
#include <cmath>

#include "core/analysis/plan/planner.h"

#include "core/graph/contains.h"

namespace normlens::analysis {

using graph::kNone;

namespace {

// Policy all: a norm outweighs a centering of its own input by far, and fewer centerings are still better.
constexpr int64_t kAllSaves = 100'000;

// The value exists only within an operator of the file, and not as what a fused norm reads: that can be written out.
bool isOutOfReach(const graph::Graph& graph, const Claim& claim) {
  const graph::NodeId producer = graph.value(claim.value).producer;
  if (producer == kNone || !graph::boolAttribute(graph.node(producer), "inside")) return false;
  return std::ranges::any_of(claim.tolerantUses, [&](const graph::Use& use) {
    return use.node == kNone || !graph::boolAttribute(graph.node(use.node), "fused");
  });
}

}  // namespace

ElementPrices elementPrices(double layerNorm, double rmsNorm, double centering, int64_t elements) {
  constexpr double kPicosecondsPerMicrosecond = 1e6;
  const auto perElement = [&](double microseconds) {
    return static_cast<int64_t>(
        std::llround(microseconds * kPicosecondsPerMicrosecond / static_cast<double>(std::max<int64_t>(1, elements))));
  };
  ElementPrices prices;
  prices.folding = std::max<int64_t>(1, perElement(layerNorm - rmsNorm));
  prices.centering = std::max(prices.folding + 1, perElement(centering));
  prices.inPicoseconds = true;
  return prices;
}

int64_t bytesOfConstants(const graph::Graph& graph) {
  int64_t total = 0;
  for (const auto& constant : graph.constants) total += graph::byteCount(constant.view);
  return total;
}

int64_t Planner::constantBytes(const Claim& claim) const {
  return graph::byteCount(graph_.constant(graph_.value(claim.value).constant).view);
}

Planner::Prices Planner::pricesOf(const PlanOptions& options) {
  constexpr ElementPrices kFixed;
  switch (options.policy) {
    case Policy::Free:
      return {0, 0, kFixed.folding};
    case Policy::All:
      return {kFixed.centering, 0, kAllSaves};
    default:
      return {options.prices.centering, 0, options.prices.folding};
  }
}

// Returns the cut that can be made for the tolerant readers alone.
CutKind Planner::cutKindOf(const Claim& claim) const {
  if (claim.tolerantUses.empty() || claim.kind == Claim::Kind::Joint || claim.kind == Claim::Kind::Proven)
    return CutKind::None;
  const auto& value = graph_.value(claim.value);
  if (claim.kind == Claim::Kind::Constant) return CutKind::Copy;
  // In front of an absorbed scale, which stays where its tensors are not centered: the same holds for its result.
  if (scaled_.contains(claim.value)) return CutKind::None;
  if (claim.droppable) return CutKind::Drop;
  if (value.constant != kNone || value.literal || !value.opaqueReason.empty()) return CutKind::None;
  if (!claim.pattern.sumsAnything() || !graph::isFloat(value.dtype)) return CutKind::None;
  if (isOutOfReach(graph_, claim)) return CutKind::None;
  // A value that a loop carries is one value in two places: it has no single point where it is made.
  if (value.producer == kNone && value.paramOf != 0) return CutKind::None;
  return CutKind::Centering;
}

int64_t Planner::cutPrice(ClaimId id, const Prices& prices, const PlanOptions& options) const {
  const CutKind kind = cutKind(id);
  if (kind == CutKind::None) return FlowNetwork::kUncuttable;
  const Claim& claim = claims_[id];
  if (kind == CutKind::Copy) return copyPrice(claim, prices, options);
  if (kind == CutKind::Centering && contains(options.centerValues, claim.value)) return 1;
  if (contains(options.keepValues, claim.value)) return FlowNetwork::kUncuttable;
  if (kind == CutKind::Drop) return 1;
  if (prices.perCenteredElement == 0) return FlowNetwork::kUncuttable;
  // A value that has no rows in the probe run may have one in another.
  return prices.perCenteredElement * std::max(claim.pattern.regionSize(), claim.pattern.groupSize());
}

int64_t Planner::copyPrice(const Claim& claim, const Prices& prices, const PlanOptions& options) const {
  // With no reader left to the original, a copy is the edit itself.
  if (claim.tolerated()) return FlowNetwork::kUncuttable;
  if (contains(options.copyValues, claim.value)) return 1;
  if (contains(options.keepValues, claim.value)) return FlowNetwork::kUncuttable;
  if (prices.perCopiedByte == 0) return 1;
  const int64_t bytes = std::max<int64_t>(1, constantBytes(claim));
  if (prices.perCopiedByte > FlowNetwork::kUncuttable / bytes) return FlowNetwork::kUncuttable;
  return 1 + prices.perCopiedByte * bytes;
}

bool Planner::staysAsMade(const Claim& claim, const PlanOptions& options) {
  const bool isConstant = claim.kind == Claim::Kind::Constant;
  // A value that can be dropped has no need to be trusted.
  const bool canDrop = claim.droppable && claim.tolerated();
  if (options.trusting && claim.kind == Claim::Kind::Refused && !canDrop) return false;
  if (claim.kind == Claim::Kind::Refused || (isConstant && !claim.tolerated())) return true;
  return (isConstant || claim.kind == Claim::Kind::Joint) && contains(options.keepValues, claim.value);
}

}  // namespace normlens::analysis
