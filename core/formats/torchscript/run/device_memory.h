// Tensors moved to another device so that what shares memory goes on sharing it: tied weights arrive once. Private to
// formats/torchscript: includes torch.
#pragma once

#include <ATen/core/Tensor.h>

#include <map>

namespace normlens::formats::torchscript {

class DeviceMemory {
 public:
  explicit DeviceMemory(c10::Device device) : device_(device) {}

  // Announces a tensor. Where the bytes of several overlap, those of all of them are moved together: announce all that
  // may share memory before the first of them is used.
  void expect(const at::Tensor& tensor);
  // On the device, a copy there too if it was there already, with the same strides. Only the bytes between a tensor's
  // first and last element are copied, whatever else lies in its memory. Throws c10::Error.
  [[nodiscard]] at::Tensor of(const at::Tensor& tensor);

 private:
  struct Stretch {
    int64_t end = 0;        // bytes of the storage, from the key on
    c10::Storage original;  // holds the address
    at::Tensor moved;       // as bytes; undefined: not yet
  };
  using Stretches = std::map<int64_t, Stretch>;  // by first byte; none overlaps another

  c10::Device device_;
  std::map<const c10::StorageImpl*, Stretches> memory_;
};

}  // namespace normlens::formats::torchscript
