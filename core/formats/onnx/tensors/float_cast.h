// Floating tensors in another floating type. Private to formats/onnx; no ONNX Runtime.
#pragma once

#include <functional>

#include "core/graph/types.h"

namespace normlens::formats::onnx {

// Changes an element before it is rounded; by its place in the tensor. Called on several threads.
using ChangeElement = std::function<double(double value, int64_t index)>;

// A new dense tensor with the elements rounded to `to`, finite ones beyond its range to its largest. Both types are
// real floating types; the view is dense. Without a `change` they are what they were.
[[nodiscard]] graph::TensorView castFloats(const graph::TensorView& view, graph::DType to,
                                           const ChangeElement& change = {});

// A dense tensor in memory of its own, to be filled through `bytes`.
struct FreshTensor {
  graph::TensorView view;
  std::byte* bytes = nullptr;
};
[[nodiscard]] FreshTensor freshTensor(graph::DType dtype, const graph::Shape& shape);

// A copy of a dense tensor.
[[nodiscard]] graph::TensorView copyOf(const graph::TensorView& view);

// The elements one behind the other, whatever the strides. The view itself where it is so already.
[[nodiscard]] graph::TensorView denseView(const graph::TensorView& view);

}  // namespace normlens::formats::onnx
