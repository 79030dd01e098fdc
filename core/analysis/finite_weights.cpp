#include "core/analysis/finite_weights.h"

#include <algorithm>
#include <thread>

#include "core/analysis/claims.h"
#include "core/fold/finite.h"

namespace normlens::analysis {

FiniteWeights::Place FiniteWeights::placeOf(const graph::TensorView& weight) {
  return {weight.data, graph::byteCount(weight)};
}

void FiniteWeights::refuseOthers(const graph::Graph& graph, std::vector<Claim>& claims) {
  const auto weightOf = [&](const Claim& claim) -> const graph::TensorView* {
    const bool centers = claim.kind == Claim::Kind::Constant || claim.kind == Claim::Kind::Joint;
    return centers ? &graph.constant(graph.value(claim.value).constant).view : nullptr;
  };
  std::vector<graph::TensorView> unread;
  for (const Claim& claim : claims) {
    const auto* weight = weightOf(claim);
    if (weight != nullptr && areFinite_.try_emplace(placeOf(*weight), true).second) unread.push_back(*weight);
  }
  const auto strange =
      fold::holdNonFinite(unread, static_cast<int>(std::max(1U, std::thread::hardware_concurrency())));
  for (size_t i = 0; i < unread.size(); ++i) areFinite_[placeOf(unread[i])] = !strange[i];
  for (Claim& claim : claims) {
    const auto* weight = weightOf(claim);
    if (weight == nullptr || areFinite_.at(placeOf(*weight))) continue;
    claim.kind = Claim::Kind::Refused;
    claim.reason = "it holds infinite or NaN values, which have no mean";
  }
}

}  // namespace normlens::analysis
