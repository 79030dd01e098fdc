// Which sums of a tensor's elements are meant: the "set A of axes, or factors of axes, within a region" of the method.
//
// A Pattern cuts the row-major index of a tensor into factors, outermost first (a mixed-radix number). A factor is
// *summed* (belongs to A) or kept, and is restricted to [begin, end) of its size (the region). A group is the set of
// elements inside the region that agree on every kept factor; "v is zero-mean over P" means that each group sums to 0,
// "a shift with pattern P" is a value that is equal within each group and 0 outside the region.
//
// Because factors follow the row-major index and not the axes, a reshape leaves a Pattern as it is. Example, x of shape
// [B, T, H*d], a norm per head: (B*T) (H) (d summed). In canonical form neighbors are merged where that loses nothing,
// sizes of 1 are gone, and equal patterns compare equal.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "core/base/small_vector.h"
#include "core/graph/types.h"

namespace normlens::ops {

struct Factor {
  int64_t size = 1;
  int64_t begin = 0;
  int64_t end = 1;
  bool summed = false;

  [[nodiscard]] bool whole() const { return begin == 0 && end == size; }
  [[nodiscard]] int64_t extent() const { return end - begin; }
  bool operator==(const Factor&) const = default;
  auto operator<=>(const Factor&) const = default;
};

// Most patterns are two factors: what is kept and what is summed.
using Factors = SmallVector<Factor, 2>;

struct Pattern {
  Factors factors;  // product of sizes = number of elements

  // Summed over these axes of a tensor of this shape, everywhere.
  static Pattern overAxes(const graph::Shape& shape, std::span<const int64_t> axes);
  // From factors in any form.
  static Pattern fromFactors(const Factors& factors);

  [[nodiscard]] bool sumsAnything() const;   // some group holds more than one element
  [[nodiscard]] int64_t groupSize() const;   // elements in a group
  [[nodiscard]] int64_t regionSize() const;  // elements inside the region
  [[nodiscard]] bool wholeRegion() const;
  // Every group of `inner` that meets this region lies inside one group of this pattern: a shift with this pattern is
  // constant over each group of `inner`, and a value zero-mean over `inner` is zero-mean over this one if the regions
  // agree as well (see impliedBy).
  [[nodiscard]] bool coversGroupsOf(const Pattern& inner) const;
  // Subtracting the means over this pattern from any value that is zero-mean over `other` leaves it so.
  [[nodiscard]] bool centeringKeeps(const Pattern& other) const;
  // Text form "(16)(48 sum)", "(3 of 0:1)": printing, tests, plan files.
  [[nodiscard]] std::string text() const;
  static std::optional<Pattern> parse(std::string_view text);

  bool operator==(const Pattern&) const = default;
  std::strong_ordering operator<=>(const Pattern&) const = default;
};

// The factors of a pattern, cut at the borders of `dims` (a list of sizes whose product is the pattern's). One list of
// factors per dim; nullopt where a factor straddles a border in a way that factors cannot express.
using FactorsPerDim = SmallVector<Factors, 4>;
[[nodiscard]] std::optional<FactorsPerDim> alignTo(const Pattern& pattern, std::span<const int64_t> dims);
[[nodiscard]] Pattern joinDims(const FactorsPerDim& dims);

}  // namespace normlens::ops
