// Two models on the same inputs: every output, and every LayerNorm of the first with its partner in the second.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/analysis/norms.h"
#include "core/run/diff.h"

namespace normlens::run {

struct ModelDiff {
  std::vector<TensorDiff> outputs;
  std::vector<TensorDiff> norms;
  std::string firstDiverging;  // first norm with max_rel above the limit
  std::string normsReason;     // why the norms could not be compared; empty when they were
};

// `limit`: nullopt takes 256 machine epsilons of the first model's type, at most 0.05. Errors: either model fails, or
// their outputs do not fit each other. Thread: one thread per model.
[[nodiscard]] Result<ModelDiff> diffModels(const formats::Model& a, const std::vector<analysis::LayerNorm>& normsOfA,
                                           const formats::Model& b, const formats::Tensors& inputs,
                                           std::optional<double> limit, const Task& task);

}  // namespace normlens::run
