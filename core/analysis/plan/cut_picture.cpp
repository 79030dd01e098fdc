// The minimum cut as one can look at it.
#include <algorithm>
#include <optional>

#include "core/analysis/claims/reached.h"
#include "core/analysis/plan/planner.h"

namespace normlens::analysis {
namespace {

using graph::kNone;

// How a mean that nothing takes away goes from claim to claim. Each claim is two points: as it is made, and as its
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
  // Where it goes on from each point, with these claims cut.
  [[nodiscard]] Grouped<int> past(const std::vector<bool>& cut) const {
    auto reads = reads_;
    for (size_t c = 0; c < count_; ++c) {
      if (!cut[c]) reads.emplace_back(made(static_cast<int>(c)), seen(static_cast<int>(c)));
    }
    return {points(), reads};
  }

 private:
  size_t count_, norms_;
  std::vector<std::pair<int, int>> reads_;
};

}  // namespace

CutPicture Planner::cutPicture(const PlanOptions& options) const {
  const Network network = networkOf(pricesOf(options), options);
  const auto cut = network.flow.solve(network.source, network.sink);
  const Solution solution = solutionOf(network, cut, options);
  const size_t count = claims_.all().size();
  const Spread spread(claims_, norms_.size());
  std::vector<int> sources;
  std::vector<bool> cuttable(count), shown(count);
  for (size_t c = 0; c < count; ++c) {
    if (staysAsMade(claims_.all()[c], options)) sources.push_back(Spread::made(static_cast<int>(c)));
    cuttable[c] = network.prices[c] < FlowNetwork::kUncuttable;
  }
  // Where a mean comes in that has not come by another such place; a norm that it reaches so is past help.
  const auto entered = reachedFrom(std::move(sources), spread.past(cuttable), spread.points());
  for (size_t c = 0; c < count; ++c) {
    if (cutKind(static_cast<int>(c)) != CutKind::Centering || !cuttable[c]) continue;
    const bool isCut = solution.cuts[c] == CutKind::Centering && !solution.good[c];
    shown[c] = isCut || entered[static_cast<size_t>(Spread::made(static_cast<int>(c)))];
  }
  CutPicture picture;
  const auto further = spread.past(shown);
  std::vector<bool> concerned(norms_.size());
  for (size_t c = 0; c < count; ++c) {
    if (!shown[c]) continue;
    const auto reached = reachedFrom({Spread::seen(static_cast<int>(c))}, further, spread.points());
    CutPicture::Place place;
    for (int n = 0; n < static_cast<int>(norms_.size()); ++n) {
      const auto at = static_cast<size_t>(spread.norm(n));
      if (!reached[at] || entered[at] || !network.normEdges[static_cast<size_t>(n)]) continue;
      place.norms.push_back(n);
      concerned[static_cast<size_t>(n)] = true;
    }
    if (place.norms.empty()) continue;
    place.value = claims_.all()[c].value;
    place.price = network.prices[c];
    place.flow = cut.flows[network.cutEdges[c]];
    place.cut = solution.cuts[c] == CutKind::Centering && !solution.good[c];
    picture.places.push_back(std::move(place));
  }
  for (int n = 0; n < static_cast<int>(norms_.size()); ++n) {
    const auto at = static_cast<size_t>(n);
    if (!concerned[at]) continue;
    const size_t edge = *network.normEdges[at];
    picture.savings.push_back(
        {n, pricesOf(options).perFoldedElement * elements_[at], cut.flows[edge], bool(solution.folded[at])});
  }
  return picture;
}

}  // namespace normlens::analysis
