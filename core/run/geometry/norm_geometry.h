// The geometry of one norm over the rows of its input and output: means and spreads over the tokens. Paper 002,
// sections 3.2 (angles before and after a norm) and 3.3 (random vectors as control). Thread: pure functions.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "core/base/result.h"
#include "core/graph/types.h"
#include "core/run/geometry/angle_counts.h"
#include "core/run/geometry/swap_error.h"

namespace normlens::run {

// A Spread is over rows: the mean and the standard deviation (divided by their number). NaN: there were none.
struct Spread {
  double mean = std::numeric_limits<double>::quiet_NaN();
  double deviation = std::numeric_limits<double>::quiet_NaN();
};

// A row with an element that is not finite takes no part in any figure; a zero row has a length and no direction.
struct SideGeometry {
  Spread angleDeg, length, meanShare;  // geometry::VectorGeometry of each row
  AngleCounts angles;
  int64_t rows = 0, zero = 0, notFinite = 0;
};

// swapError() over the rows.
struct SwapError {
  double max = 0, mean = 0;
};

struct InputGeometry {
  SideGeometry side;
  int64_t width = 0;                // d
  Spread randomDeg;                 // the angles of the same rows to the control vectors
  AngleCounts randomAngles;         // the same
  Spread bareDeg;                   // the angle to 1 of what the norm makes of them before gamma and beta
  std::optional<SwapError> swap{};  // where it was requested
};

// Axes as for forEachRow(). Errors: those of forEachRow().
[[nodiscard]] Result<SideGeometry> sideGeometry(const graph::TensorView& view, const std::vector<int64_t>& axes);

struct InputQuestion {
  std::vector<int64_t> axes;
  uint64_t seed = 0;                    // of the control vectors
  const NormConstants* swap = nullptr;  // what the norm does; nullptr: no swap
  bool takesMean = true;                // it is a LayerNorm
};
[[nodiscard]] Result<InputGeometry> inputGeometry(const graph::TensorView& view, const InputQuestion& question);

// Two vectors of normal(0, 1), as a and b of paper 002 (an angle does not depend on a vector's length): the same for
// every norm of this width and seed, on every machine. Random rows have angles of 90 degrees to them with a spread of
// 1/sqrt(d) radians.
[[nodiscard]] std::vector<std::vector<double>> controlVectors(int64_t width, uint64_t seed);
[[nodiscard]] double expectedSpreadDeg(int64_t width);

}  // namespace normlens::run
