#include "kernels/ops/strided_rows.h"

#include <torch/csrc/stable/ops.h>

namespace normlens::kernels {

StridedRows::StridedRows(const TensorHandle& tensor) {
  if (findStride(tensor.facts())) {
    data_ = tensor.data();
  } else {
    copy_.emplace(TensorHandle::of(torch::stable::contiguous(tensor.shared())));
    data_ = copy_->data();
    stride_ = tensor.facts().sizes.back();
  }
}

bool StridedRows::findStride(const TensorFacts& facts) {
  const auto sizes = facts.sizes;
  const auto strides = facts.strides;
  const size_t last = sizes.size() - 1;
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
