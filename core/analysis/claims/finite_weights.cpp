#include "core/analysis/claims/finite_weights.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/analysis/claims/claims.h"
#include "core/base/parallel.h"
#include "core/fold/finite.h"

namespace normlens::analysis {

FiniteWeights::WeightBytes FiniteWeights::bytesOf(const graph::TensorView& weight) {
  return {weight.data, graph::byteCount(weight)};
}

void FiniteWeights::read(const std::vector<graph::TensorView>& weights) {
  const auto strange = fold::holdNonFinite(weights, hardwareThreads());
  for (size_t i = 0; i < weights.size(); ++i) areFinite_[bytesOf(weights[i])] = !strange[i];
}

bool FiniteWeights::readRest() {
  const auto rest = std::exchange(unread_, {});
  read(rest);
  return !std::ranges::all_of(rest, [&](const graph::TensorView& weight) { return areFinite_.at(bytesOf(weight)); });
}

bool FiniteWeights::leaveOutLarge() {
  constexpr double kHalfTheRange = graph::kLargestFloat16 / 2;
  bool any = false;
  for (const graph::TensorView& weight : std::exchange(halves_, {})) {
    const auto numbers = graph::toDoubles(weight);
    const auto isLarge = [](double number) { return std::abs(number) > kHalfTheRange; };
    if (numbers && std::ranges::any_of(*numbers, isLarge)) any |= large_.insert(bytesOf(weight)).second;
  }
  return any;
}

bool FiniteWeights::isFinite(const graph::TensorView& weight) {
  if (!areFinite_.contains(bytesOf(weight))) read({weight});
  return areFinite_.at(bytesOf(weight));
}

void FiniteWeights::refuseOthers(const graph::Graph& graph, std::vector<Claim>& claims) {
  const auto weightOf = [&](const Claim& claim) -> const graph::TensorView* {
    const bool centers = claim.kind == Claim::Kind::Constant || claim.kind == Claim::Kind::Joint;
    return centers ? &graph.constant(graph.value(claim.value).constant).view : nullptr;
  };
  std::vector<graph::TensorView> unread;
  for (const Claim& claim : claims) {
    const auto* weight = weightOf(claim);
    if (weight == nullptr || !areFinite_.try_emplace(bytesOf(*weight), true).second) continue;
    unread.push_back(*weight);
    if (weight->dtype == graph::DType::Float16) halves_.push_back(*weight);
  }
  std::ranges::stable_sort(unread, {}, graph::byteCount);
  const auto tooLarge = std::ranges::find_if(
      unread, [&](const graph::TensorView& weight) { return (bytesRead_ += graph::byteCount(weight)) > kMostRead; });
  unread_.insert(unread_.end(), tooLarge, unread.end());
  unread.erase(tooLarge, unread.end());
  read(unread);
  for (Claim& claim : claims) {
    const auto* weight = weightOf(claim);
    if (weight == nullptr) continue;
    const bool isLarge = large_.contains(bytesOf(*weight));
    if (!isLarge && areFinite_.at(bytesOf(*weight))) continue;
    claim.kind = Claim::Kind::Refused;
    claim.reason = isLarge ? "its numbers, centered, would be too large for float16"
                           : "it holds infinite or NaN values, which have no mean";
  }
}

}  // namespace normlens::analysis
