// A tensor seen as rows over its last axis.
#pragma once

#include <torch/csrc/stable/tensor.h>

#include <cstdint>

namespace normlens::kernels {

// Leading axes become one axis of rows, without a copy where one stride does for all of them. Keeps the memory alive.
class StridedRows {
 public:
  explicit StridedRows(torch::stable::Tensor tensor);

  [[nodiscard]] const void* data() const { return tensor_.const_data_ptr(); }
  [[nodiscard]] int64_t stride() const { return stride_; }

 private:
  bool findStride();

  torch::stable::Tensor tensor_;
  int64_t stride_ = 0;
};

}  // namespace normlens::kernels
