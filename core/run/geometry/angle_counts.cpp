#include "core/run/geometry/angle_counts.h"

#include <algorithm>
#include <cmath>

namespace normlens::run {
namespace {

constexpr double kStep = 0.1;  // degrees
constexpr int kAbove = 900;    // steps from 90 to 180: the middle one is at kAbove
constexpr int kMost = 64;      // steps of the result

// Returns the step that a fine one becomes when an odd number of steps are made one, which keeps 90 in the middle.
int merged(int fine, int factor) {
  const int fromMiddle = fine - kAbove;
  return static_cast<int>(std::floor((fromMiddle + factor / 2.0) / factor));
}

}  // namespace

AngleTally::AngleTally() : fine_(2 * kAbove + 1) {}

void AngleTally::add(double angleDeg) {
  const double place = std::floor((angleDeg - 90) / kStep + 0.5) + kAbove;
  ++fine_[static_cast<size_t>(std::clamp(place, 0.0, 2.0 * kAbove))];
}

AngleCounts AngleTally::take() const {
  const auto some = [](int64_t count) { return count > 0; };
  const auto first = std::ranges::find_if(fine_, some);
  if (first == fine_.end()) return {};
  const auto low = static_cast<int>(first - fine_.begin());
  int high = 2 * kAbove;
  while (fine_[static_cast<size_t>(high)] == 0) --high;
  int factor = 1;
  while (merged(high, factor) - merged(low, factor) >= kMost) factor += 2;
  AngleCounts told;
  told.step = kStep * factor;
  told.low = 90 + (merged(low, factor) - 0.5) * told.step;
  told.counts.resize(static_cast<size_t>(merged(high, factor) - merged(low, factor)) + 1);
  for (int fine = low; fine <= high; ++fine) {
    told.counts[static_cast<size_t>(merged(fine, factor) - merged(low, factor))] += fine_[static_cast<size_t>(fine)];
  }
  return told;
}

}  // namespace normlens::run
