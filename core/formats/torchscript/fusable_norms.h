// Which norms can take the residual add before them into one op. Private to formats/torchscript: includes torch.
#pragma once

#include <functional>
#include <optional>

#include "core/formats/torchscript/apply_fused_norm.h"
#include "core/formats/torchscript/torchscript_model.h"

namespace normlens::formats::torchscript {

struct FusableNorm {
  int frame = 0;  // whose body holds the add
  NormSite site;
};

// `norm`: a LayerNorm or RmsNorm of the graph; its shapes and types are those of the probe. nullopt unless it is over
// the last axis of a sum of two values of its own type and shape, its gamma and beta have that type too, and canFuse.
// `untouched`: no edit changes the body of that frame, so that a call of it can be replaced.
[[nodiscard]] std::optional<FusableNorm> findFusable(const TorchScriptModel& model, graph::NodeId norm,
                                                     const std::function<bool(int frame)>& untouched);

}  // namespace normlens::formats::torchscript
