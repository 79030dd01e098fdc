// Counts the representable numbers between two numbers: the distance in units of the last place of their own type.
//
// Both are rounded to the type and numbered in order (the two zeros are one number); the distance is the difference of
// the numbers. Near zero small differences are many units: read it beside max_rel. Thread: pure functions.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "core/graph/types.h"

namespace normlens::run {

// counts[0]: equal; counts[i], i >= 1: distances in (2^(i-2), 2^(i-1)], which are 1, 2, 3-4, 5-8, 9-16 ...; the last
// one holds whatever is farther, and elements that are not finite on one side only.
inline constexpr size_t kUlpBuckets = 24;

struct UlpHistogram {
  std::array<int64_t, kUlpBuckets> counts{};
  uint64_t most = 0;  // the largest distance of finite elements
};

// Returns distances in `type` for elements of a and b in row-major order; of equal elements that are not finite it is
// 0. nullopt: the shapes differ, or `type` or the elements are no real floating ones.
[[nodiscard]] std::optional<UlpHistogram> ulpDistances(const graph::TensorView& a, const graph::TensorView& b,
                                                       graph::DType type);

// The type with the fewer mantissa bits, in which two tensors are compared; Unknown unless both are real floating ones.
[[nodiscard]] graph::DType coarserType(graph::DType a, graph::DType b);

}  // namespace normlens::run
