#include "core/formats/torchscript/input_search.h"

#include <algorithm>

#include "core/formats/torchscript/input_repair.h"

namespace normlens::formats::torchscript {
namespace {

// Guesses may be costly (large images): part of the time is for mending.
constexpr std::chrono::duration<double> kGuessing{1};

}  // namespace

// One that fails is kept if it came at least as far as this.
bool InputSearch::works(const InputCandidate& candidate, size_t atLeast) {
  const std::string text = textOf(candidate);
  if (!seen_.insert(text).second) return false;
  if (trials_.works(givenOnes(candidate))) return true;
  InputFault fault = trials_.fault();
  if (furthest_.empty() || fault.reached > furthestReached_) {
    furthestReached_ = fault.reached;
    furthest_ = text + " stopped at " + trials_.lastError();
  }
  if (fault.reached >= atLeast) failed_.push_back({candidate, std::move(fault), std::nullopt, 0});
  return false;
}

// The one that came furthest among those with repairs left.
InputSearch::Failed* InputSearch::best() {
  Failed* found = nullptr;
  for (Failed& failed : failed_) {
    const bool left = !failed.repairs || failed.next < failed.repairs->size();
    if (left && (found == nullptr || failed.fault.reached > found->fault.reached)) found = &failed;
  }
  return found;
}

std::optional<InputCandidate> InputSearch::run(const std::vector<InputCandidate>& guesses) {
  std::vector<InputCandidate> late;
  for (const InputCandidate& guess : guesses) {
    if (trials_.elapsed() > kGuessing) {
      late.push_back(guess);
    } else if (works(guess, 0)) {
      return guess;
    }
  }
  while (!trials_.searchedEnough()) {
    Failed* from = best();
    if (from == nullptr) break;
    if (!from->repairs) from->repairs = repairs(from->candidate, from->fault, slots_, unknown_, floats_);
    if (from->next == from->repairs->size()) continue;
    const InputCandidate candidate = (*from->repairs)[from->next++];
    if (works(candidate, from->fault.reached)) return candidate;
  }
  for (const InputCandidate& guess : late) {
    if (trials_.searchedEnough()) break;
    if (works(guess, 0)) return guess;
  }
  return std::nullopt;
}

}  // namespace normlens::formats::torchscript
