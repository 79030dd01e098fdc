#include "core/analysis/plan/planner.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>

#include "core/analysis/claims/reached.h"
#include "core/analysis/plan/min_cut.h"
#include "core/analysis/plan/plan_conflicts.h"
#include "core/graph/queries.h"

namespace normlens::analysis {

using fold::AbsorbScale;
using graph::kNone;

namespace {

constexpr std::array<std::pair<Policy, std::string_view>, 4> kPolicies = {
    {{Policy::Free, "free"}, {Policy::Balanced, "balanced"}, {Policy::All, "all"}, {Policy::Paper, "paper"}}};

// Policy all: a norm outweighs a centering of its own input by far, and fewer centerings are still better.
constexpr int64_t kAllSaves = 100'000;

int64_t elements(const graph::Graph& graph, graph::ValueId value) {
  const auto& shape = graph.value(value).shape;
  return shape ? std::max<int64_t>(1, graph::elementCount(*shape).value_or(1)) : 1;
}

int64_t constantBytes(const graph::Graph& graph, graph::ConstantId id) {
  return graph::byteCount(graph.constant(id).view);
}

// More than can be counted, as of an endless growth, is the most that can be.
int64_t wholeBytes(double bytes) {
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  return bytes < static_cast<double>(kMost) ? static_cast<int64_t>(bytes) : kMost;
}

bool contains(const std::vector<int>& items, int item) {
  return std::find(items.begin(), items.end(), item) != items.end();
}

// The value exists only within an operator of the file, and not as what a fused norm reads: that can be written out.
bool isOutOfReach(const graph::Graph& graph, const Claim& claim) {
  const graph::NodeId producer = graph.value(claim.value).producer;
  if (producer == kNone || !graph::boolAttribute(graph.node(producer), "inside")) return false;
  return std::ranges::any_of(claim.tolerantUses, [&](const graph::Use& use) {
    return use.node == kNone || !graph::boolAttribute(graph.node(use.node), "fused");
  });
}

}  // namespace

std::string_view policyName(Policy policy) { return kPolicies.at(static_cast<size_t>(policy)).second; }

std::optional<Policy> policyFromName(std::string_view name) {
  for (const auto& [policy, word] : kPolicies) {
    if (word == name) return policy;
  }
  return std::nullopt;
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
  return prices;
}

Planner::Planner(const graph::Graph& graph, const std::vector<LayerNorm>& norms, const Claims& claims,
                 const std::vector<AbsorbScale>& scales)
    : graph_(graph), norms_(norms), claims_(claims), scales_(scales) {
  collectScaled();
  for (const Claim& claim : claims_.all()) cutKinds_.push_back(cutKindOf(claim));
  for (const LayerNorm& norm : norms_) elements_.push_back(elements(graph_, norm.input));
}

// From each tensor of a scale's edit on, every value has one reader, up to the scale itself.
void Planner::collectScaled() {
  if (scales_.empty()) return;
  std::map<graph::ConstantId, graph::ValueId> values;
  for (graph::ValueId id = 0; id < static_cast<graph::ValueId>(graph_.values.size()); ++id) {
    if (graph_.value(id).constant != kNone) values[graph_.value(id).constant] = id;
  }
  for (const AbsorbScale& scale : scales_) {
    for (const auto& part : scale.parts) {
      graph::NodeId reader = kNone;
      for (graph::ValueId id = values.at(part.constant); reader != scale.scaleNode;
           id = graph_.node(reader).outputs[0]) {
        scaled_.insert(id);
        reader = graph::onlyReader(graph_, id)->node;
      }
    }
  }
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

// What can be done for the tolerant readers alone.
CutKind Planner::cutKindOf(const Claim& claim) const {
  if (claim.tolerantUses.empty() || claim.kind == Claim::Kind::Joint || claim.kind == Claim::Kind::Proven)
    return CutKind::None;
  const auto& value = graph_.value(claim.value);
  if (claim.kind == Claim::Kind::Constant) return CutKind::Copy;
  // In front of an absorbed scale, which stays where its tensors are not centered: of its result one can say the same.
  if (scaled_.contains(claim.value)) return CutKind::None;
  if (claim.droppable) return CutKind::Drop;
  if (value.constant != kNone || value.literal || !value.opaqueReason.empty()) return CutKind::None;
  if (!claim.pattern.sumsAnything() || !graph::isFloat(value.dtype)) return CutKind::None;
  if (isOutOfReach(graph_, claim)) return CutKind::None;
  // What a loop carries is one value in two places: it has no single point where it is made.
  if (value.producer == kNone && value.paramOf != 0) return CutKind::None;
  return CutKind::Centering;
}

int64_t Planner::cutPrice(ClaimId id, const Prices& prices, const PlanOptions& options) const {
  const CutKind kind = cutKind(id);
  if (kind == CutKind::None) return FlowNetwork::kUncuttable;
  if (kind == CutKind::Drop) return 1;
  const Claim& claim = claims_[id];
  if (kind == CutKind::Copy) {
    if (prices.perCopiedByte == 0) return 1;
    const int64_t bytes = std::max<int64_t>(1, constantBytes(graph_, graph_.value(claim.value).constant));
    if (prices.perCopiedByte > FlowNetwork::kUncuttable / bytes) return FlowNetwork::kUncuttable;
    return 1 + prices.perCopiedByte * bytes;
  }
  const auto& wanted = options.centerValues;
  if (std::find(wanted.begin(), wanted.end(), claim.value) != wanted.end()) return 1;
  if (prices.perCenteredElement == 0) return FlowNetwork::kUncuttable;
  // Of what has no rows in the probe run another run may have one.
  return prices.perCenteredElement * std::max(claim.pattern.regionSize(), claim.pattern.groupSize());
}

Planner::Solution Planner::solve(const Prices& prices, const PlanOptions& options) const {
  const int count = static_cast<int>(claims_.all().size());
  const int norms = static_cast<int>(norms_.size());
  const int source = 2 * count + norms;
  const int sink = source + 1;
  const auto raw = [](int c) { return 2 * c; };
  const auto tol = [](int c) { return 2 * c + 1; };
  FlowNetwork network(sink + 1);
  std::vector<int64_t> price(static_cast<size_t>(count));
  for (int c = 0; c < count; ++c) {
    const Claim& claim = claims_[c];
    price[static_cast<size_t>(c)] = cutPrice(c, prices, options);
    network.connect(raw(c), tol(c), price[static_cast<size_t>(c)]);
    const bool noticed = claim.kind == Claim::Kind::Constant && !claim.tolerated();
    if (claim.kind == Claim::Kind::Refused || noticed) network.connect(source, raw(c), FlowNetwork::kUncuttable);
    for (const Need& need : claim.needs) {
      network.connect(need.throughTolerantUse ? tol(need.claim) : raw(need.claim), raw(c), FlowNetwork::kUncuttable);
    }
  }
  int64_t possible = 0;
  for (int n = 0; n < norms; ++n) {
    if (claims_.root(n) == kNone || contains(options.keepNorms, n)) continue;
    const int root = claims_.rootTolerant(n) ? tol(claims_.root(n)) : raw(claims_.root(n));
    const int64_t saves = prices.perFoldedElement * elements_[static_cast<size_t>(n)];
    network.connect(root, 2 * count + n, FlowNetwork::kUncuttable);
    network.connect(2 * count + n, sink, saves);
    possible += saves;
  }
  const auto cut = network.solve(source, sink);

  Solution solution;
  solution.flow = cut.flow;
  solution.value = possible - cut.flow;
  solution.cuts.assign(static_cast<size_t>(count), CutKind::None);
  for (int c = 0; c < count; ++c) {
    if (cut.onSinkSide[static_cast<size_t>(raw(c))] || !cut.onSinkSide[static_cast<size_t>(tol(c))]) continue;
    solution.cuts[static_cast<size_t>(c)] = cutKind(c);
    if (cutKind(c) == CutKind::Copy) {
      solution.bytesGrown += constantBytes(graph_, graph_.value(claims_[c].value).constant);
      solution.value += price[static_cast<size_t>(c)];
    }
  }
  propagate(solution);
  for (int n = 0; n < norms; ++n) {
    const int vertex = 2 * count + n;
    solution.folded.push_back(cut.onSinkSide[static_cast<size_t>(vertex)] && holds(solution, n));
  }
  return solution;
}

// The cut says so by construction; asked again because a wrong answer would change the model.
bool Planner::holds(const Solution& solution, int norm) const {
  const ClaimId root = claims_.root(norm);
  if (root == kNone) return false;
  const auto at = static_cast<size_t>(root);
  return solution.good[at] || (claims_.rootTolerant(norm) && solution.cuts[at] != CutKind::None);
}

// raw(c) is good unless something not zero-mean reaches it past the cuts.
void Planner::propagate(Solution& solution) const {
  const size_t count = claims_.all().size();
  std::vector<std::pair<int, int>> reads;
  std::vector<int> bad;
  for (size_t c = 0; c < count; ++c) {
    const Claim& claim = claims_.all()[c];
    for (const Need& need : claim.needs) {
      const bool cut = need.throughTolerantUse && solution.cuts[static_cast<size_t>(need.claim)] != CutKind::None;
      if (!cut) reads.emplace_back(need.claim, static_cast<int>(c));
    }
    if (claim.kind == Claim::Kind::Refused || (claim.kind == Claim::Kind::Constant && !claim.tolerated()))
      bad.push_back(static_cast<int>(c));
  }
  solution.good = reachedFrom(std::move(bad), {count, reads}, count);
  solution.good.flip();
}

// A price at which even the smallest copy costs more than all norms together save.
int64_t Planner::unaffordableByte(const Prices& prices) const {
  int64_t saved = 0;
  for (const int64_t elements : elements_) saved += prices.perFoldedElement * elements;
  return saved + 1;
}

// Lagrange: a price on each copied byte, found by bisection; each step is one minimum cut.
Planner::Solution Planner::solveWithinGrowth(const PlanOptions& options, double& gap) const {
  gap = 0;
  Prices prices = pricesOf(options);
  Solution best = solve(prices, options);
  if (best.bytesGrown == 0) return best;
  int64_t total = 0;
  for (size_t i = 0; i < graph_.constants.size(); ++i)
    total += constantBytes(graph_, static_cast<graph::ConstantId>(i));
  const int64_t budget = wholeBytes(static_cast<double>(total) * options.maxGrowthPercent / 100.0);
  if (best.bytesGrown <= budget) return best;
  int64_t low = 0;
  int64_t high = unaffordableByte(prices);
  auto bound = static_cast<double>(best.value);
  std::optional<Solution> within;
  constexpr int kSteps = 48;
  for (int step = 0; step < kSteps && low < high; ++step) {
    prices.perCopiedByte = step == 0 ? high : low + (high - low) / 2;
    Solution next = solve(prices, options);
    // Weak duality: no plan within the budget saves more than this.
    bound = std::min(bound, static_cast<double>(next.value) + static_cast<double>(prices.perCopiedByte) *
                                                                  static_cast<double>(budget - next.bytesGrown));
    if (next.bytesGrown > budget) {
      low = prices.perCopiedByte + 1;
    } else {
      high = prices.perCopiedByte;
      if (!within || next.value > within->value) within = std::move(next);
    }
  }
  gap = std::max(0.0, (bound - static_cast<double>(within->value)) / static_cast<double>(prices.perFoldedElement));
  return std::move(*within);
}

// A norm that the others' edits would spoil stays as it is; so few that another cut for each round is cheap.
Plan Planner::decide(const PlanOptions& options) const {
  PlanOptions current = options;
  while (true) {
    double gap = 0;
    const Solution solution =
        options.policy == Policy::Balanced ? solveWithinGrowth(current, gap) : solve(pricesOf(options), current);
    Plan plan = assemble(solution);
    plan.policy = options.policy;
    plan.gap = gap;
    const std::vector<int> spoiled = conflictingNorms(graph_, norms_, claims_, solution.good, plan);
    if (spoiled.empty()) return plan;
    current.keepNorms.insert(current.keepNorms.end(), spoiled.begin(), spoiled.end());
  }
}

Plan Planner::plan(const PlanOptions& options) const {
  Plan plan = decide(options);
  for (PlannedEdit& planned : plan.edits) {
    planned.bytes = bytesOf(planned.edit, graph_);
    const auto* center = std::get_if<fold::CenterConstant>(&planned.edit);
    planned.bytesGrown = center != nullptr && center->split ? planned.bytes : 0;
    plan.bytesGrown += planned.bytesGrown;
  }
  return plan;
}

size_t Planner::candidates() const {
  size_t count = 0;
  for (int norm = 0; norm < static_cast<int>(norms_.size()); ++norm) count += claims_.root(norm) != kNone ? 1 : 0;
  return count;
}

}  // namespace normlens::analysis
