// Walks a norm over a row of d numbers, op by op: what is read, added, multiplied, and what the registers hold.
// The lesson on speed plays and counts it. Thread: any, no shared state.
//
// LayerNorm in two passes sums the row, then the squares of what is left without the mean; in one pass (Welford's
// method) it carries mean and squares together, at a division for each number; RMSNorm sums the squares alone.
// Counts for large d: 7d and 4d floating-point operations in two passes and for RMSNorm (paper 000, A.8.1, Table 3).
// Paper 001's tables, which count x - mean twice and a division as three, are those of base/geometry/norm_cost.h.
#pragma once

#include <QString>
#include <vector>

#include "ui/learn/norm_geometry.h"

namespace normlens::ui {

enum class NormWay { LayerNormTwoPasses, LayerNormOnePass, RmsNorm };

// Holds the state after one number of one pass.
struct NormPassStep {
  int pass = 0;                               // from 0; the last one writes
  int index = 0;                              // The number's place in the row.
  int operations = 0, reads = 0, writes = 0;  // numbers, since the beginning
  double mean = 0, squares = 0;               // the registers: mean, or the sum on its way there; sum of squares
};

struct NormPasses {
  std::vector<QString> passes;  // Say what each is for.
  std::vector<NormPassStep> steps;
  Vector output;  // γ and β of the row applied
  bool keepsMean = true;

  [[nodiscard]] const NormPassStep& last() const { return steps.back(); }
};

// x, gamma, beta: of one width. β is not read by RMSNorm, which has none.
[[nodiscard]] NormPasses passesOf(NormWay way, const Vector& x, const Vector& gamma, const Vector& beta);

}  // namespace normlens::ui
