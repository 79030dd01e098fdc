// Additions that ONNX Runtime's Skip...LayerNormalization can take in. Private to formats/onnx.
//
// That operator does not broadcast as Add does: it goes by the shape of its first input, and where the second one has
// a larger batch it drops rows without a word (ONNX Runtime 1.31). So both operands must have one shape at every size
// of the model's inputs, not only at those of the probe.
#pragma once

#include <unordered_map>

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

}  // namespace normlens::formats::onnx
