// A module on another device, for measurements. Private to formats/torchscript: includes torch.
#pragma once

#include <torch/script.h>

#include <map>
#include <vector>

namespace normlens::formats::torchscript {

// Tensors moved to another device so that what shares memory goes on sharing it: tied weights arrive once.
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

// Every tensor on `device`, literal devices too; the module given is not changed, and shares no memory with the copy.
// Tensors that share memory in it share memory in the copy. Throws c10::Error.
[[nodiscard]] torch::jit::Module copyOnDevice(const torch::jit::Module& module, c10::Device device);

// The tensors inside, wherever they are, on `device`; as above.
void moveInputs(std::vector<c10::IValue>& inputs, c10::Device device);

}  // namespace normlens::formats::torchscript
