// Describes where the elements of a view lie in the value that it is a view of, and the numbers of its rows beside
// them. A row is a run of `width` neighbors of that value, as laid out by rowsOver(). Private to core/analysis.
#pragma once

#include <optional>
#include <vector>

#include "core/graph/types.h"

namespace normlens::analysis {

struct LayoutAxis {
  int64_t size = 1;
  int64_t stride = 0;      // in elements of the value; 0: it repeats what it holds
  bool alwaysOne = false;  // has size 1 for every input, not just in the probe
};
using RowLayout = std::vector<LayoutAxis>;

// Returns the layout of a value itself, with the axes that a row runs over innermost.
[[nodiscard]] RowLayout rowsOver(const graph::Shape& shape, const std::vector<int64_t>& axes);
// Those of the axes that have size 1 have it for every input; others are not listed rightly.
void markAlwaysOne(RowLayout& layout, const std::vector<int64_t>& axes);
[[nodiscard]] RowLayout permuted(const RowLayout& layout, const std::vector<int64_t>& perm);
// ones: axes of `shape` that have size 1 for every input. nullopt: no strides can express it.
[[nodiscard]] std::optional<RowLayout> reshaped(const RowLayout& layout, const graph::Shape& shape,
                                                const std::vector<int64_t>& ones);
// One number per row, the axes kept with size 1; nullopt: they are not those of whole rows, or have size 1 in the probe
// alone.
[[nodiscard]] std::optional<RowLayout> reduced(const RowLayout& layout, const std::vector<int64_t>& axes,
                                               int64_t width);
// One number for all, one per row, one per place in a row, or one per element.
enum class Spread : uint8_t { Uniform, PerRow, PerPlace, PerElement };
struct LaidOut {
  const RowLayout& layout;
  Spread spread = Spread::Uniform;
};
// Lays out a value of `shape` that is made from two operands, each element from what belongs to its own row and place.
[[nodiscard]] std::optional<RowLayout> together(const LaidOut& a, const LaidOut& b, const graph::Shape& shape,
                                                int64_t width);
// The same places in the same order.
[[nodiscard]] bool sameLayout(const RowLayout& a, const RowLayout& b);

}  // namespace normlens::analysis
