// How large the squares are that norms take, before and after a fold: what decides whether a half type holds them.
//
// Thread: one thread per model.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/formats/model.h"

namespace normlens::run {

// Over all elements, and over all rows, of a norm's input.
struct NormReach {
  double square = 0;  // the largest x^2
  double sum = 0;     // The largest sum of x^2 over a row, whose mean a norm takes.
};

struct NormRange {
  std::string title;                       // of the original's LayerNorm
  std::optional<NormReach> before, after;  // nullopt: these inputs do not come by it, or it has no partner
};

// In execution order. Both have been probed with `inputs`. Errors: either model fails, Cancelled.
[[nodiscard]] Result<std::vector<NormRange>> normRanges(const formats::Model& original, const formats::Model& folded,
                                                        const formats::Tensors& inputs, const Task& task);

}  // namespace normlens::run
