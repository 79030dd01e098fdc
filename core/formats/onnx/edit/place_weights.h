// Writes the changed tensors of a fold into the copied model. Private to formats/onnx.
//
// Each place that holds a constant (initializer or Constant node) gets the version that its reads want, and reads that
// want another one are given a new tensor. Reads that the analysis does not cover (an operand that means nothing to it)
// keep what the file has.
// Thread: one. Errors: throws EditRefused.
#pragma once

#include "core/formats/edit/weight_versions.h"
#include "core/formats/onnx/edit/editable_model.h"

namespace normlens::formats::onnx {

// Before any edit of the nodes.
void placeWeights(const Lowered& lowered, EditableModel& model, const WeightVersions& weights);

}  // namespace normlens::formats::onnx
