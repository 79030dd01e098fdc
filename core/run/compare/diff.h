// Measures how far two tensors, or two runs, are apart.
//
//   max_abs  = max |a - b|            mean_abs = mean |a - b|
//   max_rel  = max |a - b| / max |a|  cosine   = a . b / (|a| |b|)
// Elements that are equal bit for bit set no scale: the max |a| of max_rel is of those that differ. The -3e38 of a mask
// would hide everything beside it. row_rel is the largest max_rel of a row by itself: along the last axis that has more
// than one element. No scale is less than a tenth of the lower quartile of the tensor's |a| that are not 0.
// An element that is NaN on both sides, or the same infinity, is equal and takes no part; one that is not finite on one
// side only, or differently, makes every measure infinite (cosine NaN). max |a| = 0: max_rel is 0 when nothing differs,
// else infinite. Empty tensors are equal. Thread: pure functions.
#pragma once

#include <string>
#include <vector>

#include "core/formats/model.h"

namespace normlens::run {

struct TensorDiff {
  std::string name;
  double maxAbs = 0, maxRel = 0, rowRel = 0, meanAbs = 0, cosine = 1;
  double scale = 0;      // the max |a| of maxRel
  bool vacuous = false;  // there are elements, and none of them took part
  bool telling = false;  // floating-point numbers took part: indices and flags can agree by chance
  // The place where they are farthest apart, the first of equals, in row-major order; -1: they are equal everywhere.
  int64_t worst = -1;
  double worstA = 0, worstB = 0;  // the two elements there
};

// Errors: shapes that differ (BadInput), element types without numbers (Unsupported).
[[nodiscard]] Result<TensorDiff> compareTensors(std::string name, const graph::TensorView& a,
                                                const graph::TensorView& b);

// Compares output by output. Error also when their numbers differ.
[[nodiscard]] Result<std::vector<TensorDiff>> compareOutputs(const formats::Tensors& a, const formats::Tensors& b);

struct Worst {
  double maxAbs = 0, maxRel = 0;
  void include(const TensorDiff& diff);
};

// A row, see above, in which a and b differ, or any where exact numbers are given; of the elements that differ, but for
// `a`.
struct RowErrors {
  double apart = 0, scale = 0;  // largest |a - b|; largest |a|
  // The distances of each from exact numbers; 0 where none are given. a: also of the row's elements that are equal, as
  // one that differs may be right by luck; far larger ones count little. around: the largest |a| of the others.
  double a = 0, b = 0, around = 0;
  double exact = 0;  // largest |exact|
};
// exact: of the same shape; nullptr: not known. Errors: those of compareTensors().
[[nodiscard]] Result<std::vector<RowErrors>> rowErrors(const graph::TensorView& a, const graph::TensorView& b,
                                                       const graph::TensorView* exact);

// A row, see above, that is farther apart than its own scale allows.
struct FarRow {
  std::vector<size_t> elements;  // that differ, as places of numbers in row-major order
  double apart = 0, scale = 0;
  double noise = 0;  // how far these elements of `a` move when its weights are rounded otherwise
};
[[nodiscard]] Result<std::vector<FarRow>> rowsApart(const graph::TensorView& a, const graph::TensorView& b,
                                                    double limit);
// `other`: the result of such weights. One of another shape, or not finite, shows nothing of rounding.
void includeNoise(const graph::TensorView& a, const graph::TensorView& other, std::vector<FarRow>& rows);

}  // namespace normlens::run
