#include "kernels/ops/strided_rows.h"

#include <torch/csrc/stable/ops.h>

#include <utility>

namespace normlens::kernels {

StridedRows::StridedRows(torch::stable::Tensor tensor) : tensor_(std::move(tensor)) {
  if (!findStride()) {
    tensor_ = torch::stable::contiguous(tensor_);
    stride_ = tensor_.size(tensor_.dim() - 1);
  }
}

bool StridedRows::findStride() {
  const auto sizes = tensor_.sizes();
  const auto strides = tensor_.strides();
  const auto last = static_cast<size_t>(tensor_.dim() - 1);
  if (sizes[last] != 1 && strides[last] != 1) return false;
  stride_ = sizes[last];
  int64_t expected = -1;  // what the next outer axis must have
  for (size_t axis = last; axis-- > 0;) {
    if (sizes[axis] == 1) continue;
    if (expected == -1) {
      stride_ = strides[axis];
    } else if (strides[axis] != expected) {
      return false;
    }
    expected = strides[axis] * sizes[axis];
  }
  return true;
}

}  // namespace normlens::kernels
