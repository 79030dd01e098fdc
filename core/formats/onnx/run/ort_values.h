// Tensors to and from ONNX Runtime. Private to formats/onnx; only where ONNX Runtime is there.
#pragma once

#include <onnxruntime_cxx_api.h>

#include <memory>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/formats/model.h"

namespace normlens::formats::onnx {

// Returns a view of a tensor, valid as long as the value. Its dtype is Unknown, and its data null, where TensorView has
// no such type.
[[nodiscard]] graph::TensorView viewOf(const Ort::ConstValue& value);

// An OrtValue on memory of ours, and what keeps that memory alive.
struct SharedValue {
  Ort::Value value{nullptr};
  std::shared_ptr<const void> memory;
};

// Returns whether the runtime can use the memory of this tensor as it is: dense, and aligned as its kernels like it.
[[nodiscard]] bool suitsRuntime(const graph::TensorView& view);
// That memory where it suits, a copy otherwise. `dtype`: the view's.
[[nodiscard]] SharedValue shareTensor(const graph::TensorView& view);

// The tensor as an input wants it: floats become the wanted floating type, integers the wanted integer or floating
// type where every number fits. Errors: BadInput.
[[nodiscard]] Result<graph::TensorView> convertInput(const graph::TensorView& view, graph::DType wanted,
                                                     const std::string& input);

// Appends an output: a tensor under its name, the elements of a sequence as NAME[0], NAME[1] ... 16- to 64-bit unsigned
// integers become int64. Errors: Unsupported for strings, maps and unknown types.
[[nodiscard]] Status appendOutput(const std::string& name, Ort::Value value, Tensors& outputs);

}  // namespace normlens::formats::onnx
