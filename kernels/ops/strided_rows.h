// A tensor seen as rows over its last axis.
#pragma once

#include <cstdint>
#include <optional>

#include "kernels/ops/tensor_handle.h"

namespace normlens::kernels {

// Leading axes become one axis of rows, without a copy where one stride does for all of them. The tensor must outlive
// this, which keeps the copy alive.
class StridedRows {
 public:
  explicit StridedRows(const TensorHandle& tensor);

  [[nodiscard]] const void* data() const { return data_; }
  [[nodiscard]] int64_t stride() const { return stride_; }

 private:
  bool findStride(const TensorFacts& facts);

  std::optional<TensorHandle> copy_;
  const void* data_ = nullptr;
  int64_t stride_ = 0;
};

}  // namespace normlens::kernels
