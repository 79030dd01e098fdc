#include "core/analysis/plan/planner.h"

#include <algorithm>
#include <array>
#include <boost/graph/boykov_kolmogorov_max_flow.hpp>
#include <boost/graph/compressed_sparse_row_graph.hpp>
#include <boost/property_map/property_map.hpp>
#include <iterator>
#include <limits>
#include <numeric>
#include <unordered_map>
#include <vector>

#include "core/analysis/claims/claims.h"
#include "core/analysis/claims/reached.h"
#include "core/analysis/graph_names.h"
#include "core/analysis/norms/norms.h"
#include "core/graph/contains.h"
#include "core/graph/queries.h"
#include "core/ops/rules.h"

namespace normlens::analysis {

using fold::AbsorbScale;

namespace {

// All arcs in one block: a list of arcs per node would be an allocation for each arc.
using Network = boost::compressed_sparse_row_graph<boost::directedS, boost::no_property, boost::no_property,
                                                   boost::no_property, uint32_t, uint32_t>;
using Arc = boost::graph_traits<Network>::edge_descriptor;

// Nodes that still reach the sink through residual capacity.
std::vector<bool> reachingSink(const Network& network, const std::vector<Arc>& reverse,
                               const std::vector<int64_t>& residual, uint32_t sink) {
  const auto index = boost::get(boost::edge_index, network);
  std::vector<bool> seen(boost::num_vertices(network), false);
  std::vector<uint32_t> queue{sink};
  seen[sink] = true;
  while (!queue.empty()) {
    const auto node = queue.back();
    queue.pop_back();
    // Every arc has its reverse at the other end: walk the reverses of what leaves the node.
    for (auto [it, end] = boost::out_edges(node, network); it != end; ++it) {
      const auto source = boost::target(*it, network);
      if (seen[source] || residual[get(index, reverse[get(index, *it)])] == 0) continue;
      seen[source] = true;
      queue.push_back(source);
    }
  }
  return seen;
}

// Norms whose proof another edit of the same plan takes away. The cut chooses claim by claim, as if centerings of one
// value never met. Nearly always that is so: a centering that a norm's reads tolerate leaves the norm's groups as they
// are. The exception: a run-time centering over all channels of a value of which some norm reads a part that was zero-
// mean already, and no more is once the mean of all is gone.

// One centering of one value, in the order of the plan.
struct Centering {
  ops::Pattern pattern;
  graph::Uses uses;
  bool joint = false;
  bool dropped = false;  // 0 is left, which is zero-mean over any pattern
};

class Checker {
 public:
  Checker(const Graph& graph, const std::vector<LayerNorm>& norms, const Claims& claims, const std::vector<bool>& good,
          const Plan& plan)
      : graph_(graph), norms_(norms), claims_(claims), good_(good) {
    for (const PlannedEdit& planned : plan.edits) {
      if (const auto* insert = std::get_if<fold::InsertCentering>(&planned.edit)) {
        centerings_[insert->value].push_back({insert->pattern, insert->uses, false});
      } else if (const auto* drop = std::get_if<fold::DropAddend>(&planned.edit)) {
        centerings_[drop->value].push_back({{}, drop->uses, false, true});
      } else if (const auto* center = std::get_if<fold::CenterConstant>(&planned.edit)) {
        addConstants(claims_[planned.claim], *center);
      }
    }
    findSpoiled();
  }

  // Every claim on the way to the norm's leaves still holds where it is read.
  bool holds(int norm) const {
    const ClaimId root = claims_.root(norm);
    return holdsAt({root, claims_.rootTolerant(norm), readsOfInput(graph_, norms_[static_cast<size_t>(norm)])}) &&
           !spoiled_[static_cast<size_t>(root)];
  }

 private:
  // A claim that is good by what it needs is spoiled where a need does not hold, or is spoiled itself.
  void findSpoiled() {
    const size_t count = claims_.all().size();
    std::vector<std::pair<int, ClaimId>> reads;
    std::vector<ClaimId> spoiled;
    for (ClaimId id = 0; id < static_cast<ClaimId>(count); ++id) {
      if (!good_[static_cast<size_t>(id)]) continue;
      const auto& needs = claims_[id].needs;
      for (const Need& need : needs) reads.emplace_back(need.claim, id);
      if (!std::ranges::all_of(needs, [this](const Need& need) { return holdsAt(need); })) spoiled.push_back(id);
    }
    spoiled_ = reachedFrom(std::move(spoiled), {count, reads}, count);
  }

  void addConstants(const Claim& claim, const fold::CenterConstant& edit) {
    if (edit.parts.size() == 1) {
      centerings_[claim.value].push_back({claim.pattern, edit.uses, false});
      return;
    }
    for (const auto& member : claim.joint())
      centerings_[member.value].push_back({member.pattern, graph_.value(member.value).uses, true});
  }

  bool holdsAt(const Need& need) const {
    const Claim& claim = claims_[need.claim];
    if (claim.kind == Claim::Kind::Proven && !meanIsTheInputs(claim)) return false;
    const auto at = centerings_.find(claim.value);
    if (at == centerings_.end()) return true;
    const auto& value = graph_.value(claim.value);
    // A constant that is 0 stays 0.
    if (claim.kind == Claim::Kind::Proven && (value.constant != kNone || value.literal)) return true;
    return std::all_of(need.through.begin(), need.through.end(),
                       [&](const Use& use) { return holdsFor(claim, need.claim, use, at->second); });
  }

  bool holdsFor(const Claim& claim, ClaimId id, const Use& use, const std::vector<Centering>& centerings) const {
    const bool joint = claim.kind == Claim::Kind::Joint;
    bool zero = good_[static_cast<size_t>(id)] && claim.kind != Claim::Kind::Constant && !joint;
    for (const Centering& centering : centerings) {
      if (!contains(centering.uses, use)) continue;
      if (centering.dropped || (centering.joint == joint && centering.pattern == claim.pattern)) {
        zero = true;
      } else {
        zero = zero && !joint && !centering.joint && centering.pattern.centeringKeeps(claim.pattern);
      }
    }
    return zero;
  }

  // x - mean(x): both read the same x, and nothing was taken from the mean alone.
  bool meanIsTheInputs(const Claim& claim) const {
    const auto& value = graph_.value(claim.value);
    if (value.producer == kNone) return true;
    const auto centering = ops::explicitCentering(graph_, graph_.node(value.producer));
    if (!centering) return true;
    const ValueId mean = graph_.node(value.producer).operands[1];
    const Use asData{value.producer, 0, kNone};
    const Use asMean{graph_.value(mean).producer, 0, kNone};
    const auto ofInput = centerings_.find(centering->input);
    const bool together = ofInput == centerings_.end() ||
                          std::all_of(ofInput->second.begin(), ofInput->second.end(), [&](const Centering& each) {
                            return contains(each.uses, asData) == contains(each.uses, asMean);
                          });
    const auto ofMean = centerings_.find(mean);
    return together && (ofMean == centerings_.end() ||
                        std::none_of(ofMean->second.begin(), ofMean->second.end(), [&](const Centering& each) {
                          return contains(each.uses, Use{value.producer, 1, kNone});
                        }));
  }

  const Graph& graph_;
  const std::vector<LayerNorm>& norms_;
  const Claims& claims_;
  const std::vector<bool>& good_;
  std::unordered_map<ValueId, std::vector<Centering>> centerings_;
  std::vector<bool> spoiled_;  // by claim
};

// `good` marks for each claim whether it holds after the edits by what it needs. Ascending indices into plan.folded's
// norms.
std::vector<int> conflictingNorms(const Graph& graph, const std::vector<LayerNorm>& norms, const Claims& claims,
                                  const std::vector<bool>& good, const Plan& plan) {
  const Checker checker(graph, norms, claims, good, plan);
  std::vector<int> out;
  std::copy_if(plan.folded.begin(), plan.folded.end(), std::back_inserter(out),
               [&](int norm) { return !checker.holds(norm); });
  return out;
}

int64_t elements(const graph::Graph& graph, graph::ValueId value) {
  const auto& shape = graph.value(value).shape;
  return shape ? std::max<int64_t>(1, graph::elementCount(*shape).value_or(1)) : 1;
}

// More than can be counted, as of an endless growth, is the most that can be.
int64_t wholeBytes(double bytes) {
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  return bytes < static_cast<double>(kMost) ? static_cast<int64_t>(bytes) : kMost;
}

// A claim has two nodes in the network.
int rawNode(int claim) { return 2 * claim; }
int tolNode(int claim) { return 2 * claim + 1; }

}  // namespace

FlowNetwork::Cut FlowNetwork::solve(int source, int sink) const {
  const auto nodes = static_cast<size_t>(nodes_);
  // Each edge is an arc and its reverse, which has no capacity; arcs lie by the node that they leave.
  std::vector<uint32_t> next(nodes + 1, 0);
  for (const Edge& edge : edges_) {
    ++next[edge.from + 1];
    ++next[edge.to + 1];
  }
  std::partial_sum(next.begin(), next.end(), next.begin());
  std::vector<std::pair<uint32_t, uint32_t>> ends(2 * edges_.size());
  std::vector<Arc> reverse(ends.size());
  std::vector<int64_t> capacity(ends.size(), 0), residual(ends.size(), 0);
  std::vector<uint32_t> arcOf;  // by edge
  for (const Edge& edge : edges_) {
    const uint32_t forward = next[edge.from]++, backward = next[edge.to]++;
    ends[forward] = {edge.from, edge.to};
    ends[backward] = {edge.to, edge.from};
    reverse[forward] = Arc(edge.to, backward);
    reverse[backward] = Arc(edge.from, forward);
    capacity[forward] = edge.capacity;
    arcOf.push_back(forward);
  }
  const Network network(boost::edges_are_sorted, ends.begin(), ends.end(), static_cast<uint32_t>(nodes));
  const auto index = boost::get(boost::edge_index, network);
  std::vector<Arc> predecessor(nodes);
  std::vector<int64_t> distance(nodes, 0);
  std::vector<boost::default_color_type> color(nodes);
  const auto byArc = [&](auto& values) { return boost::make_iterator_property_map(values.begin(), index); };
  const auto nodeIndex = boost::get(boost::vertex_index, network);
  const auto byNode = [&](auto& values) { return boost::make_iterator_property_map(values.begin(), nodeIndex); };
  Cut cut;
  cut.flow = boost::boykov_kolmogorov_max_flow(network, byArc(capacity), byArc(residual), byArc(reverse),
                                               byNode(predecessor), byNode(color), byNode(distance), nodeIndex,
                                               static_cast<uint32_t>(source), static_cast<uint32_t>(sink));
  for (const uint32_t arc : arcOf) cut.flows.push_back(std::max<int64_t>(0, capacity[arc] - residual[arc]));
  cut.onSinkSide = reachingSink(network, reverse, residual, static_cast<uint32_t>(sink));
  return cut;
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
  const auto values = graph::valuesOfConstants(graph_);
  for (const AbsorbScale& scale : scales_) {
    for (const auto& part : scale.parts) {
      graph::NodeId reader = kNone;
      for (graph::ValueId id = values[static_cast<size_t>(part.constant)]; reader != scale.scaleNode;
           id = graph_.node(reader).outputs[0]) {
        scaled_.insert(id);
        reader = graph::onlyReader(graph_, id)->node;
      }
    }
  }
}

Planner::Network Planner::networkOf(const Prices& prices, const PlanOptions& options) const {
  const int count = static_cast<int>(claims_.all().size());
  const int norms = static_cast<int>(norms_.size());
  const int source = 2 * count + norms;
  const int sink = source + 1;
  Network network{FlowNetwork(sink + 1), source, sink, {}, {}, {}, 0};
  for (int c = 0; c < count; ++c) {
    const Claim& claim = claims_[c];
    network.prices.push_back(cutPrice(c, prices, options));
    network.cutEdges.push_back(network.flow.connect(rawNode(c), tolNode(c), network.prices.back()));
    if (staysAsMade(claim, options)) network.flow.connect(source, rawNode(c), FlowNetwork::kUncuttable);
    for (const Need& need : claim.needs) {
      network.flow.connect(need.throughTolerantUse ? tolNode(need.claim) : rawNode(need.claim), rawNode(c),
                           FlowNetwork::kUncuttable);
    }
  }
  network.normEdges.resize(static_cast<size_t>(norms));
  for (int n = 0; n < norms; ++n) {
    if (claims_.root(n) == kNone || contains(options.keepNorms, n)) continue;
    const int root = claims_.rootTolerant(n) ? tolNode(claims_.root(n)) : rawNode(claims_.root(n));
    const int64_t saves = prices.perFoldedElement * elements_[static_cast<size_t>(n)];
    network.flow.connect(root, 2 * count + n, FlowNetwork::kUncuttable);
    network.normEdges[static_cast<size_t>(n)] = network.flow.connect(2 * count + n, sink, saves);
    network.possible += saves;
  }
  return network;
}

Planner::Solution Planner::solve(const Prices& prices, const PlanOptions& options) const {
  const Network network = networkOf(prices, options);
  return solutionOf(network, network.flow.solve(network.source, network.sink), options);
}

Planner::Solution Planner::solutionOf(const Network& network, const FlowNetwork::Cut& cut,
                                      const PlanOptions& options) const {
  const int count = static_cast<int>(claims_.all().size());
  Solution solution;
  solution.flow = cut.flow;
  solution.value = network.possible - cut.flow;
  solution.cuts.assign(static_cast<size_t>(count), CutKind::None);
  for (int c = 0; c < count; ++c) {
    if (cut.onSinkSide[static_cast<size_t>(rawNode(c))] || !cut.onSinkSide[static_cast<size_t>(tolNode(c))]) continue;
    solution.cuts[static_cast<size_t>(c)] = cutKind(c);
    if (cutKind(c) == CutKind::Copy) {
      const bool counts = !contains(options.copyValues, claims_[c].value);
      if (counts) solution.bytesGrown += constantBytes(claims_[c]);
      solution.value += network.prices[static_cast<size_t>(c)];
    }
  }
  propagate(solution, options);
  for (int n = 0; n < static_cast<int>(norms_.size()); ++n) {
    const int vertex = 2 * count + n;
    solution.folded.push_back(cut.onSinkSide[static_cast<size_t>(vertex)] && holds(solution, n));
  }
  return solution;
}

// The cut ensures it by construction; checked again because a wrong answer would change the model.
bool Planner::holds(const Solution& solution, int norm) const {
  const ClaimId root = claims_.root(norm);
  if (root == kNone) return false;
  const auto at = static_cast<size_t>(root);
  return solution.good[at] || (claims_.rootTolerant(norm) && solution.cuts[at] != CutKind::None);
}

// raw(c) is good unless something not zero-mean reaches it past the cuts.
void Planner::propagate(Solution& solution, const PlanOptions& options) const {
  const size_t count = claims_.all().size();
  std::vector<std::pair<int, int>> reads;
  std::vector<int> bad;
  for (size_t c = 0; c < count; ++c) {
    const Claim& claim = claims_.all()[c];
    for (const Need& need : claim.needs) {
      const bool cut = need.throughTolerantUse && solution.cuts[static_cast<size_t>(need.claim)] != CutKind::None;
      if (!cut) reads.emplace_back(need.claim, static_cast<int>(c));
    }
    if (staysAsMade(claim, options)) bad.push_back(static_cast<int>(c));
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
  const auto total = static_cast<double>(bytesOfConstants(graph_));
  const int64_t budget = wholeBytes(total * options.maxGrowthPercent / 100.0);
  if (best.bytesGrown <= budget) return best;
  int64_t low = 0;
  int64_t high = unaffordableByte(prices);
  if (budget == 0) {
    prices.perCopiedByte = high;
    return solve(prices, options);
  }
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

// The tensors that take in one scale do so together.
PlanOptions Planner::keepingWhatIsScaledTogether(PlanOptions options) const {
  if (options.keepValues.empty() || scales_.empty()) return options;
  std::set<graph::ConstantId> kept;
  for (const graph::ValueId value : options.keepValues) kept.insert(graph_.value(value).constant);
  for (size_t before = 0; before != kept.size();) {
    before = kept.size();
    for (const AbsorbScale& scale : scales_) {
      if (std::ranges::none_of(scale.parts, [&](const auto& part) { return kept.contains(part.constant); })) continue;
      for (const auto& part : scale.parts) kept.insert(part.constant);
    }
  }
  kept.erase(kNone);
  const auto values = graph::valuesOfConstants(graph_);
  for (const graph::ConstantId constant : kept) options.keepValues.push_back(values[static_cast<size_t>(constant)]);
  return options;
}

// A norm that the others' edits would spoil stays as it is; so few that another cut for each round is cheap.
Planner::Decision Planner::decide(const PlanOptions& options) const {
  PlanOptions current = keepingWhatIsScaledTogether(options);
  while (true) {
    double gap = 0;
    Solution solution =
        options.policy == Policy::Balanced ? solveWithinGrowth(current, gap) : solve(pricesOf(options), current);
    Plan plan = assemble(solution);
    plan.policy = options.policy;
    plan.gap = gap;
    const std::vector<int> spoiled = conflictingNorms(graph_, norms_, claims_, solution.good, plan);
    if (spoiled.empty()) return {std::move(current), std::move(solution), std::move(plan)};
    current.keepNorms.insert(current.keepNorms.end(), spoiled.begin(), spoiled.end());
  }
}

Plan Planner::plan(const PlanOptions& options) const {
  Plan plan = decide(options).plan;
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
