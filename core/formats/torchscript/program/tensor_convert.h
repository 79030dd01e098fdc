// Between torch's tensors and element types and ours. Private to formats/torchscript and pt2: includes torch.
#pragma once

#include <torch/script.h>

#include "core/graph/types.h"

namespace normlens::formats::torchscript {

// The view shares memory with the tensor and keeps it alive.
[[nodiscard]] graph::TensorView viewOf(const at::Tensor& tensor);
[[nodiscard]] at::Tensor tensorOf(const graph::TensorView& view);  // shares memory; the view's owner is kept alive
[[nodiscard]] graph::DType dtypeOf(at::ScalarType type);
[[nodiscard]] at::ScalarType scalarTypeOf(graph::DType dtype);

}  // namespace normlens::formats::torchscript
