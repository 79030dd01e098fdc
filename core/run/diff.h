// How far two tensors, or two runs, are apart.
//
//   max_abs  = max |a - b|            mean_abs = mean |a - b|
//   max_rel  = max |a - b| / max |a|  cosine   = a . b / (|a| |b|)
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
  double maxAbs = 0, maxRel = 0, meanAbs = 0, cosine = 1;
  bool vacuous = false;  // there are elements, and none of them took part
  bool telling = false;  // floating-point numbers took part: indices and flags can agree by chance
  // Where they are farthest apart, the first of equals, as a place in row-major order; -1: they are equal everywhere.
  int64_t worst = -1;
  double worstA = 0, worstB = 0;  // the two elements there
};

// Errors: shapes that differ (BadInput), element types without numbers (Unsupported).
[[nodiscard]] Result<TensorDiff> compareTensors(std::string name, const graph::TensorView& a,
                                                const graph::TensorView& b);

// Output by output. Error also when their numbers differ.
[[nodiscard]] Result<std::vector<TensorDiff>> compareOutputs(const formats::Tensors& a, const formats::Tensors& b);

struct Worst {
  double maxAbs = 0, maxRel = 0;
  void include(const TensorDiff& diff);
  void include(const Worst& other);
};
[[nodiscard]] Worst worstOf(const std::vector<TensorDiff>& diffs);

}  // namespace normlens::run
