#include "core/formats/torchscript/inputs/input_search.h"

#include <algorithm>

#include "core/formats/torchscript/inputs/input_repair.h"

namespace normlens::formats::torchscript {
namespace {

// Guesses may be costly (large images): part of the time is for mending.
constexpr std::chrono::duration<double> kGuessing{1};

}  // namespace

// One that fails is kept if it came at least as far as this.
bool InputSearch::works(const InputCandidate& candidate, size_t guess, size_t atLeast) {
  const std::string text = textOf(candidate);
  if (!seen_.insert(text).second) return false;
  if (trials_.works(givenOnes(candidate))) return true;
  InputFault fault = trials_.fault();
  if (furthest_.empty() || fault.reached > furthestReached_) {
    furthestReached_ = fault.reached;
    furthest_ = text + " came furthest: " + trials_.lastError();
  }
  if (fault.reached >= atLeast) failed_.push_back({candidate, std::move(fault), guess, std::nullopt, 0});
  return false;
}

// The one that came furthest among those with repairs left: of all, or of those that come from one guess.
InputSearch::Failed* InputSearch::best(std::optional<size_t> ofGuess) {
  Failed* found = nullptr;
  for (Failed& failed : failed_) {
    const bool left = !failed.repairs || failed.next < failed.repairs->size();
    const bool asked = !ofGuess || failed.guess == *ofGuess;
    if (left && asked && (found == nullptr || failed.fault.reached > found->fault.reached)) found = &failed;
  }
  return found;
}

std::optional<InputCandidate> InputSearch::run(const std::vector<InputCandidate>& guesses) {
  size_t tried = 0;
  for (; tried < guesses.size() && trials_.elapsed() <= kGuessing; ++tried) {
    if (works(guesses[tried], tried, 0)) return guesses[tried];
  }
  for (size_t turn = 0; !trials_.searchedEnough(); ++turn) {
    // What comes furthest may have no way on: every guess has its turns.
    Failed* from = turn % 4 == 3 && tried > 0 ? best(turn / 4 % tried) : nullptr;
    if (from == nullptr) from = best(std::nullopt);
    if (from == nullptr) break;
    if (!from->repairs) from->repairs = repairs(from->candidate, from->fault, slots_, unknown_, floats_);
    if (from->next == from->repairs->size()) continue;
    const InputCandidate candidate = (*from->repairs)[from->next++];
    if (works(candidate, from->guess, from->fault.reached)) return candidate;
  }
  for (; tried < guesses.size() && !trials_.searchedEnough(); ++tried) {
    if (works(guesses[tried], tried, 0)) return guesses[tried];
  }
  return std::nullopt;
}

}  // namespace normlens::formats::torchscript
