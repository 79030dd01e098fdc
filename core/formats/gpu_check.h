// Records what a GPU was tried with, and how each step went.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/result.h"

namespace normlens::formats {

// In this order; each step rests on those before it, and none is tried after one that failed.
enum class GpuStep : uint8_t {
  Driver,       // libcuda.so.1 is loaded
  Start,        // cuInit, and how many GPUs there are
  Torch,        // LibTorch's CUDA half is loaded and sees the GPU
  Memory,       // one allocation, written and read back
  OwnKernel,    // normlens::rms_norm against float64
  TorchKernel,  // torch's layer_norm against float64
  Graph,        // normlens::rms_norm recorded as a CUDA graph and replayed with another input
};

// For JSON and messages.
[[nodiscard]] constexpr std::string_view gpuStepName(GpuStep step) {
  constexpr std::array<std::string_view, 7> kNames = {"driver",     "start",        "torch", "memory",
                                                      "own_kernel", "torch_kernel", "graph"};
  return kNames[static_cast<size_t>(step)];
}

struct GpuStepResult {
  GpuStep step = GpuStep::Driver;
  double ms = 0;
  Status outcome;
};
using GpuCheck = std::vector<GpuStepResult>;

}  // namespace normlens::formats
