// The geometry of one norm over the rows of its input and output: means and spreads over the tokens. Paper 002,
// sections 3.2 (angles before and after a norm) and 3.3 (random vectors as control). Thread: pure functions.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "core/base/result.h"
#include "core/graph/types.h"

namespace normlens::run {

// Angles of many rows, counted: a small histogram that is made in one pass. counts[i] rows have an angle from low + i *
// step on, up to the next; degrees. 90 lies in the middle of a step.
struct AngleCounts {
  double low = 0, step = 0;
  std::vector<int64_t> counts;
};

class AngleTally {
 public:
  AngleTally();
  void add(double angleDeg);  // in [0, 180]
  // Returns counts from the first step that has a row to the last, at most 64 steps: where there are more, several are
  // one. Empty where nothing was added.
  [[nodiscard]] AngleCounts take() const;

 private:
  std::vector<int64_t> fine_;
};

// NormConstants apply behind the division by the root; empty: 1 and 0.
struct NormConstants {
  std::span<const double> gamma, beta;  // as many elements as x, or none
  double eps = 0;
};
// |RMSNorm(x) - LayerNorm(x)| / |LayerNorm(x)|, with the same gamma, beta and eps: by how much the output of this norm
// changes where its mean is not subtracted any more. 0 where nothing changes; infinite where a zero output does.
// With gamma 1, beta 0 and eps 0 it is 2 |cos((90 + theta) / 2)|, the chord between two vectors of length sqrt(d),
// theta the angle of x to the uniform vector (core/base/geometry).
[[nodiscard]] double swapError(std::span<const double> x, const NormConstants& constants);

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

// Running works Welford's way: one pass, and no digits lost to a large mean.
class Running {
 public:
  void add(double value);
  [[nodiscard]] Spread spread() const;

 private:
  int64_t count_ = 0;
  double mean_ = 0, squares_ = 0;
};

// SideSums and InputSums take the rows of one tensor after the other and keep none of them: their memory depends on the
// width alone. Axes as for forEachRow(); add() returns its errors. Thread: one.
class SideSums {
 public:
  [[nodiscard]] Status add(const graph::TensorView& view, const std::vector<int64_t>& axes);
  bool addRow(std::span<const double> row);  // false: the row takes no part
  [[nodiscard]] SideGeometry take() const;

 private:
  SideGeometry side_;
  Running angle_, length_, share_;
  AngleTally angles_;
};

struct InputQuestion {
  std::vector<int64_t> axes;
  uint64_t seed = 0;                    // Draws the control vectors.
  const NormConstants* swap = nullptr;  // The norm's own; nullptr: no swap. It outlives the sums.
  bool takesMean = true;                // it is a LayerNorm
};

class InputSums {
 public:
  explicit InputSums(InputQuestion question) : question_(std::move(question)) {}
  [[nodiscard]] Status add(const graph::TensorView& view);
  [[nodiscard]] InputGeometry take() const;

 private:
  void addRow(std::span<const double> row);

  InputQuestion question_;
  int64_t width_ = 0;
  SideSums side_;
  Running random_, swap_, bare_;
  AngleTally randomAngles_;
  double worst_ = 0;
  std::vector<std::vector<double>> controls_;
};

// Two vectors of normal(0, 1), as a and b of paper 002 (an angle does not depend on a vector's length): the same for
// every norm of this width and seed, on every machine. Random rows have angles of 90 degrees to them with a spread of
// 1/sqrt(d) radians.
[[nodiscard]] std::vector<std::vector<double>> controlVectors(int64_t width, uint64_t seed);
[[nodiscard]] double expectedSpreadDeg(int64_t width);

}  // namespace normlens::run
