// The minimum cut as one can look at it.
#include <algorithm>
#include <functional>
#include <numeric>

#include "core/analysis/claims/reached.h"
#include "core/analysis/plan/planner.h"

namespace normlens::analysis {
namespace {

using graph::kNone;

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
  // Marks where a mean comes in that has not come by another such place; a norm that it reaches so is past help.
  const auto entered = spread.reached(std::move(sources), spread.past(cuttable));
  std::vector<int> ends;  // points behind the places
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
  std::vector<int> claimOf;  // of each place
  for (size_t c = 0; c < count; ++c) {
    if (!shown[c] || !useful[static_cast<size_t>(Spread::seen(static_cast<int>(c)))]) continue;
    picture.places.push_back({claims_.all()[c].value, network.prices[c], cut.flows[network.cutEdges[c]], isCut[c], {}});
    claimOf.push_back(static_cast<int>(c));
  }
  std::vector<size_t> order(picture.places.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::stable_sort(order, std::greater(), [&](size_t i) { return picture.places[i].flow; });
  if (order.size() > described) order.resize(described);
  for (const size_t i : order) {
    const auto reached = spread.reached({Spread::seen(claimOf[i])}, further);
    for (const auto& saving : picture.savings) {
      if (reached[static_cast<size_t>(spread.norm(saving.norm))]) picture.places[i].norms.add(saving.norm);
    }
  }
  return picture;
}

}  // namespace normlens::analysis
