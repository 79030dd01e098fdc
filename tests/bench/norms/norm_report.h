// The goals for the kernels, and the table and JSON of what was measured.
#pragma once

#include <string>
#include <vector>

#include "tests/bench/norms/norm_times.h"

namespace normlens::bench {

// One goal at one point: `value` should be at most `limit`.
struct GoalResult {
  const char* goal;
  std::string op;
  size_t point;  // index into the points
  double value;
  double limit;

  [[nodiscard]] bool met() const { return value <= limit; }
};

[[nodiscard]] std::vector<GoalResult> checkGoals(const std::vector<PointTimes>& points);

void printTableHead();
void printTableRow(const PointTimes& times);
// How many points meet each goal, and the ones that do not.
void printGoals(const std::vector<PointTimes>& points, const std::vector<GoalResult>& goals);

// {"schema":1, "torch", "points":[a row for each point and op], "goals":[{..., "met"}], "missed":[…],
// "left_out":[points that need more memory than allowed]}. The file is there as a whole or as it was before. Throws
// std::runtime_error if it cannot be written.
void writeJson(const std::string& file, const std::vector<PointTimes>& points, const std::vector<GoalResult>& goals,
               const std::vector<NormPoint>& leftOut);

}  // namespace normlens::bench
