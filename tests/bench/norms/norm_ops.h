// What is timed at one size: copying a tensor, torch's norms and ours, each on the same numbers.
#pragma once

#include <ATen/core/TensorBody.h>

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace normlens::bench {

struct NormPoint {
  at::Device device;
  at::ScalarType type;
  int64_t rows;
  int64_t width;
};

using Outputs = std::array<at::Tensor, 2>;  // the second one undefined where an op has one

struct NormOp {
  std::string name;
  int64_t bytes;                              // read and written at least, without weight and bias
  std::function<Outputs(int64_t time)> call;  // `time` chooses among copies of the input
};

// Names of the rows below. "add," stands before two calls of torch's.
inline constexpr const char* kEmpty = "empty launch";  // on a GPU only: what any kernel takes
inline constexpr const char* kCopy = "copy";
inline constexpr const char* kTorchLayerNorm = "torch layer_norm";
inline constexpr const char* kTorchRmsNorm = "torch rms_norm";
inline constexpr const char* kTorchAddLayerNorm = "torch add,layer_norm";

// Loads libnormlens_ops.so, and libtorch_cuda.so where there is a driver. Throws std::runtime_error.
void loadOps(const std::string& library);
[[nodiscard]] bool hasGpu();

[[nodiscard]] int64_t bytesOf(const NormPoint& point);  // of one tensor
// Inputs that take turns, and outputs that are to be kept: see gpu_memory.h; 1 on a CPU.
[[nodiscard]] int64_t setsOf(const NormPoint& point);
[[nodiscard]] std::vector<NormOp> normOps(const NormPoint& point);

}  // namespace normlens::bench
