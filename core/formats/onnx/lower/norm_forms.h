// LayerNorms inside other operators. Private to op_norm.cpp and op_fused.cpp.
#pragma once

#include "core/formats/onnx/lower/op_rule.h"

namespace normlens::formats::onnx {

// The last node becomes a LayerNorm over `axis` and what follows it; opaque where the parts do not fit together.
void layerNormForm(OpContext& op, const Operand& x, const Operand& gamma, const Operand& beta, double eps,
                   int64_t axis);
// Sets "axes" of a norm over `axis` and what follows it, and checks that the scale fits.
void normAxes(OpContext& op, const Operand& x, const Operand& gamma, int64_t axis);

}  // namespace normlens::formats::onnx
