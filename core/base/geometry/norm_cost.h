// The arithmetic of a norm of one row of d numbers, step by step: paper 001, appendix G.1, tables 7 and 8.
//
// An addition, a subtraction and a multiplication are one tick each, a division is three; one inverse square root, with
// the division by d and the addition of epsilon before it in Welford's method, is left out, as there. The cells of both
// tables are not in the text of the paper that we have; they are counted anew from its equations.
//
// Table 7, in two passes (equations 48 and 49):  additions   multiplications   divisions
//   mean               LayerNorm                 d - 1                         1
//   variance           LayerNorm                 2d - 1      d                 1
//                      RMSNorm                   d - 1       d                 1
//   center and scale   LayerNorm                 d           d
//                      RMSNorm                               d
//   affine             gamma                                 d
//                      beta                      d
// That is 5d - 2, 3d and 2 for LayerNorm, 8d + 4 ticks, and d - 1, 3d and 1 for RMSNorm, 4d + 2 ticks. Paper 000,
// A.8.1, has 7d and 4d: there x - mean is kept from the variance and counts once.
//
// Table 8, in one pass by g groups of numbers that are combined (equations 50 to 53):
//   first number of a group, g times      RMSNorm squares it: 1 multiplication
//   each other number, d - g times        LayerNorm 4 additions, 1 multiplication, 1 division (mean + delta / n,
//                                         M + delta (x - mean)); RMSNorm 1 addition, 1 multiplication
//   combining two groups, g - 1 times     LayerNorm 5 additions, 4 multiplications, 1 division; RMSNorm 1 addition
//   center and scale, affine              as in table 7
// Equation 51 itself is missing in that text as well; counted is the form of Chan et al. (1979), with delta = mean_B -
// mean_A and r = n_B / (n_A + n_B): mean_A + delta r, M_A + M_B + delta delta n_A r.
//
// A centering at run time is a mean and a subtraction in either. Thread: pure functions.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace normlens::geometry {

struct NormCost {
  double additions = 0, multiplications = 0, divisions = 0;  // subtractions are additions

  [[nodiscard]] double ticks() const { return additions + multiplications + 3 * divisions; }
  NormCost& operator+=(const NormCost& other);
};

enum class CountedNorm : uint8_t { LayerNorm, RmsNorm, Centering };

struct CountedRow {
  double width = 0;   // d
  double groups = 0;  // g of table 8, from 1 to d; 0: two passes, table 7
  bool gamma = true, beta = true;
};

// One line of a table: "mean", "variance", "first of a group", "within groups", "combining", "center and scale",
// "affine".
struct CostStep {
  std::string_view name;
  NormCost cost;
};

// Returns the steps in the order of the table; those of LayerNorm and of RMSNorm are as many and have the same names.
[[nodiscard]] std::vector<CostStep> costSteps(CountedNorm norm, const CountedRow& row);
[[nodiscard]] NormCost costOf(CountedNorm norm, const CountedRow& row);

}  // namespace normlens::geometry
