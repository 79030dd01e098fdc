// The second half of Planner: what each cut costs and which may be made at all; from a solution of the cut to the
// edits, and which norms need each; the cut as one can look at it.
#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <numeric>
#include <queue>

#include "core/analysis/claims/reached.h"
#include "core/analysis/plan/planner.h"
#include "core/graph/contains.h"
#include "core/graph/queries.h"

namespace normlens::analysis {

using fold::AbsorbScale;
using fold::CenterConstant;
using fold::DropAddend;
using fold::InsertCentering;
using fold::ReplaceNorm;
using graph::kNone;

// For each claim that stands for an edit: the norms whose proof goes through it.
std::vector<IndexRanges> Planner::neededBy(const Solution& solution) const {
  const size_t count = claims_.all().size();
  std::vector<IndexRanges> norms(count);
  std::vector<bool> waiting(count, false);
  // Values that are made last come first: outside of loops every claim is then visited once, with all its norms.
  std::priority_queue<std::pair<graph::NodeId, ClaimId>> queue;
  const auto enqueue = [&](ClaimId id) {
    if (waiting[static_cast<size_t>(id)]) return;
    waiting[static_cast<size_t>(id)] = true;
    queue.emplace(graph_.value(claims_[id].value).producer, id);
  };
  for (int n = 0; n < static_cast<int>(norms_.size()); ++n) {
    if (!solution.folded[static_cast<size_t>(n)]) continue;
    norms[static_cast<size_t>(claims_.root(n))].add(n);
    enqueue(claims_.root(n));
  }
  while (!queue.empty()) {
    const ClaimId id = queue.top().second;
    queue.pop();
    waiting[static_cast<size_t>(id)] = false;
    if (!solution.good[static_cast<size_t>(id)]) continue;  // its cut serves the reader
    for (const Need& need : claims_[id].needs) {
      if (norms[static_cast<size_t>(need.claim)].merge(norms[static_cast<size_t>(id)])) enqueue(need.claim);
    }
  }
  for (size_t c = 0; c < count; ++c) {
    const Claim::Kind kind = claims_.all()[c].kind;
    const bool edit = kind == Claim::Kind::Constant || kind == Claim::Kind::Joint || !solution.good[c];
    if (!edit) norms[c] = {};
  }
  return norms;
}

namespace {

// Joint claims come one per constant; the edit is made once, from the first.
bool firstOfJoint(const Claims& claims, ClaimId id) {
  const Claim& claim = claims[id];
  return claim.joint().front() == ops::Demand{claim.value, claim.pattern};
}

CenterConstant centerEdit(const graph::Graph& graph, const Claim& claim) {
  CenterConstant edit;
  if (claim.kind == Claim::Kind::Joint) {
    for (const auto& member : claim.joint()) {
      edit.parts.push_back({graph.value(member.value).constant, member.pattern});
      const auto& uses = graph.value(member.value).uses;
      edit.uses.insert(edit.uses.end(), uses.begin(), uses.end());
    }
    return edit;
  }
  edit.parts.push_back({graph.value(claim.value).constant, claim.pattern});
  edit.uses = claim.tolerantUses;
  edit.split = !claim.tolerated();
  return edit;
}

// Order of application: scales first, then constants from coarse to fine, centerings, drops; norms come behind all of
// them.
int rank(const fold::Edit& edit) { return static_cast<int>(edit.index()); }

int64_t coarseness(const fold::Edit& edit) {
  if (const auto* insert = std::get_if<InsertCentering>(&edit)) return insert->pattern.groupSize();
  const auto* center = std::get_if<CenterConstant>(&edit);
  return center == nullptr ? 0 : center->parts.front().pattern.groupSize();
}

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

// Follows a mean that nothing takes away from claim to claim. Each claim is two points: as it is made, and as its
// tolerant readers see it, which is where it may be cut.
class Spread {
 public:
  Spread(const Claims& claims, size_t norms) : count_(claims.all().size()), norms_(norms) {
    for (size_t c = 0; c < count_; ++c) {
      for (const Need& need : claims.all()[c].needs) {
        const int from = need.throughTolerantUse ? seen(need.claim) : made(need.claim);
        reads_.emplace_back(from, made(static_cast<int>(c)));
      }
    }
    for (size_t n = 0; n < norms; ++n) {
      const int root = claims.root(static_cast<int>(n));
      if (root == kNone) continue;
      reads_.emplace_back(claims.rootTolerant(static_cast<int>(n)) ? seen(root) : made(root),
                          norm(static_cast<int>(n)));
    }
  }
  [[nodiscard]] static int made(int claim) { return 2 * claim; }
  [[nodiscard]] static int seen(int claim) { return 2 * claim + 1; }
  [[nodiscard]] int norm(int index) const { return 2 * static_cast<int>(count_) + index; }

  [[nodiscard]] size_t points() const { return 2 * count_ + norms_; }
  using Reads = std::vector<std::pair<int, int>>;
  // Lists where it goes on from each point, with these claims cut.
  [[nodiscard]] Reads past(const std::vector<bool>& cut) const {
    Reads reads = reads_;
    for (size_t c = 0; c < count_; ++c) {
      if (!cut[c]) reads.emplace_back(made(static_cast<int>(c)), seen(static_cast<int>(c)));
    }
    return reads;
  }
  [[nodiscard]] std::vector<bool> reached(std::vector<int> from, const Reads& reads) const {
    return reachedFrom(std::move(from), {points(), reads}, points());
  }
  // From where one of these is reached.
  [[nodiscard]] std::vector<bool> reaching(std::vector<int> to, Reads reads) const {
    for (auto& [from, target] : reads) std::swap(from, target);
    return reached(std::move(to), reads);
  }

 private:
  size_t count_, norms_;
  Reads reads_;
};

}  // namespace

Plan Planner::assemble(const Solution& solution) const {
  Plan plan;
  const auto needed = neededBy(solution);
  std::map<graph::ConstantId, IndexRanges> centered;
  for (ClaimId id = 0; id < static_cast<ClaimId>(needed.size()); ++id) {
    const auto& frees = needed[static_cast<size_t>(id)];
    const Claim& claim = claims_[id];
    if (frees.empty() || claim.kind == Claim::Kind::Proven) continue;
    const bool good = solution.good[static_cast<size_t>(id)];
    PlannedEdit planned;
    planned.claim = id;
    planned.frees = frees;
    if (claim.kind == Claim::Kind::Constant || (claim.kind == Claim::Kind::Joint && firstOfJoint(claims_, id))) {
      CenterConstant edit = centerEdit(graph_, claim);
      if (!scales_.empty()) {
        for (const auto& part : edit.parts) centered[part.constant].merge(frees);
      }
      planned.edit = std::move(edit);
    } else if (!good && solution.cuts[static_cast<size_t>(id)] == CutKind::Centering) {
      planned.edit = InsertCentering{claim.value, claim.pattern, claim.tolerantUses};
      ++plan.centerings;
    } else if (!good && solution.cuts[static_cast<size_t>(id)] == CutKind::Drop) {
      planned.edit = DropAddend{claim.value, claim.tolerantUses};
    } else {
      continue;
    }
    plan.edits.push_back(std::move(planned));
  }
  for (const AbsorbScale& scale : scales_) {
    PlannedEdit planned{scale, kNone, {}, 0, 0};
    for (const auto& part : scale.parts) {
      const auto at = centered.find(part.constant);
      if (at != centered.end()) planned.frees.merge(at->second);
    }
    if (!planned.frees.empty()) plan.edits.push_back(std::move(planned));
  }
  std::stable_sort(plan.edits.begin(), plan.edits.end(), [](const PlannedEdit& a, const PlannedEdit& b) {
    if (rank(a.edit) != rank(b.edit)) return rank(a.edit) < rank(b.edit);
    return coarseness(a.edit) > coarseness(b.edit);
  });
  for (int n = 0; n < static_cast<int>(norms_.size()); ++n) {
    if (!solution.folded[static_cast<size_t>(n)]) continue;
    plan.folded.push_back(n);
    plan.edits.push_back({ReplaceNorm{n}, claims_.root(n), {n}, 0, 0});
  }
  return plan;
}

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
  if (isOutOfReach(graph_, claim) || graph::isReadWider(graph_, claim.value)) return CutKind::None;
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

// The decision is made anew with its copies made and no others to be had: what is left of it is the cut.
CutPicture Planner::cutPicture(const PlanOptions& wanted, size_t described) const {
  const Decision decision = decide(wanted);
  PlanOptions options = decision.options;
  const size_t count = claims_.all().size();
  for (size_t c = 0; c < count; ++c) {
    if (decision.solution.cuts[c] == CutKind::Copy) options.copyValues.push_back(claims_.all()[c].value);
  }
  Prices prices = pricesOf(options);
  prices.perCopiedByte = unaffordableByte(prices);
  const Network network = networkOf(prices, options);
  const auto cut = network.flow.solve(network.source, network.sink);
  const Solution solution = solutionOf(network, cut, options);
  const Spread spread(claims_, norms_.size());
  std::vector<int> sources;
  std::vector<bool> cuttable(count), isCut(count), shown(count);
  for (size_t c = 0; c < count; ++c) {
    if (staysAsMade(claims_.all()[c], options)) sources.push_back(Spread::made(static_cast<int>(c)));
    isCut[c] = solution.cuts[c] != CutKind::None && !solution.good[c];
    const bool centers = cutKind(static_cast<int>(c)) == CutKind::Centering;
    cuttable[c] = centers ? network.prices[c] < FlowNetwork::kUncuttable : isCut[c];
  }
  // Marks where a mean comes in that has not come by another such value; a norm that it reaches so is past help.
  const auto entered = spread.reached(std::move(sources), spread.past(cuttable));
  std::vector<int> ends;  // points behind these values
  for (size_t c = 0; c < count; ++c) {
    if (cutKind(static_cast<int>(c)) != CutKind::Centering || !cuttable[c]) continue;
    shown[c] = isCut[c] || entered[static_cast<size_t>(Spread::made(static_cast<int>(c)))];
    if (shown[c]) ends.push_back(Spread::seen(static_cast<int>(c)));
  }
  const auto further = spread.past(shown);
  const auto behind = spread.reached(std::move(ends), further);
  CutPicture picture;
  std::vector<int> concerned;  // points
  for (int n = 0; n < static_cast<int>(norms_.size()); ++n) {
    const auto at = static_cast<size_t>(spread.norm(n));
    const auto& edge = network.normEdges[static_cast<size_t>(n)];
    if (!behind[at] || entered[at] || !edge) continue;
    concerned.push_back(spread.norm(n));
    picture.savings.push_back({n, prices.perFoldedElement * elements_[static_cast<size_t>(n)], cut.flows[*edge],
                               bool(solution.folded[static_cast<size_t>(n)])});
  }
  const auto useful = spread.reaching(concerned, further);
  std::vector<int> claimOf;  // One for each centering.
  for (size_t c = 0; c < count; ++c) {
    if (!shown[c] || !useful[static_cast<size_t>(Spread::seen(static_cast<int>(c)))]) continue;
    picture.centerings.push_back(
        {claims_.all()[c].value, network.prices[c], cut.flows[network.cutEdges[c]], isCut[c], {}});
    claimOf.push_back(static_cast<int>(c));
  }
  std::vector<size_t> order(picture.centerings.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::stable_sort(order, std::greater(), [&](size_t i) { return picture.centerings[i].flow; });
  if (order.size() > described) order.resize(described);
  for (const size_t i : order) {
    const auto reached = spread.reached({Spread::seen(claimOf[i])}, further);
    for (const auto& saving : picture.savings) {
      if (reached[static_cast<size_t>(spread.norm(saving.norm))]) picture.centerings[i].norms.add(saving.norm);
    }
  }
  return picture;
}

}  // namespace normlens::analysis
