// What a plan does to one tensor of a checkpoint, told for a recipe. Private to formats/safetensors. Thread: pure.
#pragma once

#include <vector>

#include "core/formats/safetensors/checkpoint_edits.h"
#include "core/formats/safetensors/match.h"

namespace normlens::formats::safetensors {

struct EditedConstant {
  graph::ConstantId constant;
  const Equal& equal;
  const Tensor& tensor;
};

// For these reads of the constant.
[[nodiscard]] std::vector<TensorChange> changesOf(const fold::FoldPlan& plan,
                                                  const std::vector<analysis::LayerNorm>& norms,
                                                  const EditedConstant& edited, const graph::Uses& uses);

}  // namespace normlens::formats::safetensors
