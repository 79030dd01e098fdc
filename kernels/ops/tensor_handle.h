// A tensor that torch has handed over, through the C functions of its stable ABI.
//
// torch::stable::Tensor allocates for each copy and queries torch for each fact each time; on a small tensor that takes
// longer than its rows. A handle owns its tensor alone and queries once. Errors are std::runtime_error. Thread: one.
#pragma once

#include <torch/csrc/stable/tensor.h>

#include <cstdint>
#include <optional>
#include <span>

#include "kernels/norm_rows.h"

namespace normlens::kernels {

// Sizes and strides belong to the tensor. Symbolic sizes have no such facts.
struct TensorFacts {
  std::optional<Scalar> scalar;  // null: a type that the kernels do not support
  int32_t deviceType = 0;
  int32_t deviceIndex = 0;
  std::span<const int64_t> sizes;
  std::span<const int64_t> strides;

  [[nodiscard]] bool isOnSameDevice(const TensorFacts& other) const {
    return deviceType == other.deviceType && deviceIndex == other.deviceIndex;
  }
  [[nodiscard]] int64_t count() const;
};

class TensorHandle {
 public:
  explicit TensorHandle(AtenTensorHandle owned) : handle_(owned) {}
  TensorHandle(TensorHandle&& other) noexcept : handle_(other.release()) {}
  TensorHandle(const TensorHandle&) = delete;
  TensorHandle& operator=(const TensorHandle&) = delete;
  TensorHandle& operator=(TensorHandle&&) = delete;
  ~TensorHandle();

  [[nodiscard]] AtenTensorHandle get() const { return handle_; }
  // The result is the caller's from now on.
  [[nodiscard]] AtenTensorHandle release();
  // Converts for functions of torch that take and return it.
  [[nodiscard]] torch::stable::Tensor shared() const;
  [[nodiscard]] static TensorHandle of(const torch::stable::Tensor& tensor);

  // Returns the type, also of tensors with symbolic sizes.
  [[nodiscard]] std::optional<Scalar> scalar() const;
  [[nodiscard]] int64_t axes() const;
  [[nodiscard]] const TensorFacts& facts() const;
  [[nodiscard]] const void* data() const;
  [[nodiscard]] void* mutableData() const;

 private:
  AtenTensorHandle handle_;
  mutable std::optional<TensorFacts> facts_;
};

}  // namespace normlens::kernels
