// A residual Add and the norm behind it become one operator of ONNX Runtime. Private to formats/onnx.
// Source of the operators: ONNX Runtime's contrib operators SkipLayerNormalization (input, skip, gamma, beta, bias) and
// SkipSimplifiedLayerNormalization (input, skip, gamma, bias) -> output, mean, inv_std_var, input_skip_bias_sum.
//
// That operator does not broadcast as Add does: it goes by the shape of its first input, and where the second one has
// a larger batch it drops rows without a word (ONNX Runtime 1.31). So both operands must have one shape at every size
// of the model's inputs, not only at those of the probe.
#pragma once

#include <functional>
#include <unordered_map>
#include <unordered_set>

#include "core/formats/onnx/edit/editable_model.h"
#include "core/formats/onnx/lower/lower.h"

namespace normlens::formats::onnx {

struct PlainAdd {
  graph::DType dtype = graph::DType::Unknown;  // of both operands and the sum
  graph::Shape shape;                          // of the sum, at the sizes of the probe; two or three axes
  // The other operand has the sum's shape, this one (0 or 1) is a constant with one number for each feature; -1: both
  // have the sum's shape.
  int bias = -1;
};

// By node of the file. Adds inside local functions are left out.
using PlainAdds = std::unordered_map<const NodeProto*, PlainAdd>;

// Statistics of halves are taken in float32, as it is written in the operators for norms; those of doubles would be,
// too. A model in which every float has another type stands for a model with these.
[[nodiscard]] bool isOfOperatorsType(const OnnxSource& source, graph::DType dtype);

[[nodiscard]] bool insideFunction(const NodePath& path);

// `model`: the copy of `source` that is to be edited, before its first edit.
[[nodiscard]] PlainAdds findPlainAdds(const OnnxSource& source, const Lowered& lowered, EditableModel& model);

// LayerNormalization, RMSNormalization and SimplifiedLayerNormalization for which `wanted` is true, over the last axis
// of a sum in `adds`, with a constant gamma (and beta) of one number per element. The sum stays a value of the model
// under its own name where it is read elsewhere or is an output. A bias that was added to one of its operands before,
// and that nothing else reads there, goes in as well. Of several norms of one sum the first takes the Add. After
// EditableModel::finishNodes. Gives the norms that were fused; those are nodes that keep their names.
[[nodiscard]] std::unordered_set<const NodeProto*> fuseAdds(EditableModel& model, const PlainAdds& adds,
                                                            const std::function<bool(const NodeProto&)>& wanted);

}  // namespace normlens::formats::onnx
