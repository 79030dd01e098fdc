// A piece of two tensors and of their difference as heat maps. Thread: pure functions.
#pragma once

#include <cstdint>
#include <vector>

#include "core/base/result.h"
#include "core/graph/types.h"

namespace normlens::run {

// A Tile is of a tensor as a matrix: the last axis across, all others down (in row-major order).
struct Tile {
  int64_t row = 0, rows = 0;  // the first, and how many
  int64_t column = 0, columns = 0;
};
[[nodiscard]] Tile wholeTile(const graph::Shape& shape);
// Returns the part of it that lies inside the tensor.
[[nodiscard]] Tile clipped(const Tile& tile, const graph::Shape& shape);

// Cells of nearly equal size, row by row; where the tile is small enough, one element each.
struct TilePicture {
  int rows = 0, columns = 0;       // Count the cells.
  std::vector<double> a, b;        // means of the cells' finite elements
  std::vector<double> difference;  // the largest |a - b| of each cell; infinite where only one is finite
  double low = 0, high = 0;        // Bound the cells of a and b.
  double most = 0;                 // the largest finite difference
};

// Precondition: the shapes are equal. Error: elements that are no real numbers (Unsupported).
[[nodiscard]] Result<TilePicture> pictureOf(const graph::TensorView& a, const graph::TensorView& b, const Tile& tile,
                                            int mostRows, int mostColumns);

}  // namespace normlens::run
