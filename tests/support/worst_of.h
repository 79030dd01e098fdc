#pragma once

#include <vector>

#include "core/run/compare/diff.h"

namespace normlens::run {

inline Worst worstOf(const std::vector<TensorDiff>& diffs) {
  Worst worst;
  for (const TensorDiff& diff : diffs) worst.include(diff);
  return worst;
}

}  // namespace normlens::run
