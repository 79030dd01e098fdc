// A residual Add and the norm behind it become one operator of ONNX Runtime. Private to formats/onnx.
// Source of the operators: ONNX Runtime's contrib operators SkipLayerNormalization (input, skip, gamma, beta, bias) and
// SkipSimplifiedLayerNormalization (input, skip, gamma, bias) -> output, mean, inv_std_var, input_skip_bias_sum.
#pragma once

#include <functional>
#include <unordered_set>

#include "core/formats/onnx/edit/plain_adds.h"

namespace normlens::formats::onnx {

// LayerNormalization, RMSNormalization and SimplifiedLayerNormalization for which `wanted` is true, over the last axis
// of a sum in `adds`, with a constant gamma (and beta) of one number per element. The sum stays a value of the model
// under its own name where it is read elsewhere or is an output. A bias that was added to one of its operands before,
// and that nothing else reads there, goes in as well. Of several norms of one sum the first takes the Add. After
// EditableModel::finishNodes. Gives the norms that were fused; those are nodes that keep their names.
[[nodiscard]] std::unordered_set<const NodeProto*> fuseAdds(EditableModel& model, const PlainAdds& adds,
                                                            const std::function<bool(const NodeProto&)>& wanted);

}  // namespace normlens::formats::onnx
