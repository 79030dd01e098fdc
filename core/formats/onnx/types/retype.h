// A model with some of its floating types replaced by another one, node by node as it was. Private to formats/onnx; no
// ONNX Runtime.
#pragma once

#include <functional>
#include <set>

#include "core/formats/onnx/source/onnx_source.h"

namespace normlens::formats::onnx {

struct Retype {
  std::set<int32_t> from;  // element types of TensorProto: FLOAT, FLOAT16 ...
  int32_t to = TensorProto::DOUBLE;
  bool inside = true;  // also the types that operators compute in
};

// All other floating types become this one. The types that an operator computes in (a norm's stash_type) follow to
// float64 only: a half-precision norm sums in float32.
[[nodiscard]] Retype allFloatsTo(graph::DType dtype);
[[nodiscard]] Retype bfloat16ToFloat32();

// Types of inputs, outputs and values, small tensors, values of Constant nodes, literal type attributes (Cast's `to`,
// dtype ...), where FLOAT is replaced also those that an operator has by default. In all bodies and
// functions. Finite numbers beyond the new type's range become its largest.
// Skeletons of weights get the type; their bytes are retypeWeights' work. Idempotent.
void retypeModel(ModelProto& model, const Retype& retype);

// Calls read() with each weight that is not needed any more.
[[nodiscard]] Weights retypeWeights(const Weights& weights, const Retype& retype,
                                    const std::function<void(const graph::TensorView&)>& read = {});

// Returns whether anything of the type occurs.
[[nodiscard]] bool mentionsType(const ModelProto& model, int32_t type);

}  // namespace normlens::formats::onnx
