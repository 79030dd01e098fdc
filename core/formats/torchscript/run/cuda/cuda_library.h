// LibTorch's CUDA half, which is not linked: loading it costs every start 0.2 to 0.4 s. Private to formats/torchscript
// and to the laboratory's training.
//
// Torch settles once in a process whether there is CUDA, on its first use, and a convolution or a batch norm on
// the CPU is one. So a process that may use a GPU loads it before anything else of torch runs.
#pragma once

#include <initializer_list>

#include "core/base/result.h"

namespace normlens::formats::torchscript {

// The three steps of loadCuda(), each of which rests on the one before; repeating one is cheap. Thread: any.
// Loads libcuda.so.1. Error: Unsupported, with the loader's own words.
[[nodiscard]] Status loadDriver();
// cuInit and cuDeviceGetCount of CUDA's driver API. Error: Unsupported, with the driver's number and name of the
// failure, or that it shows no GPU.
[[nodiscard]] Status startDriver();
// libtorch_cuda.so, from beside libtorch_cpu.so. Error: Unsupported, with the loader's own words, or that LibTorch
// finds no GPU where the driver does; Internal where torch had settled before that there is none.
[[nodiscard]] Status loadTorchCuda();

// After it has succeeded torch's CUDA devices can be used; done once in a process. Error: that of the step that failed.
// Thread: any.
[[nodiscard]] Status loadCuda();

// The same, for the GPU of that number. Error: Unsupported, there are fewer, too.
[[nodiscard]] Status loadCudaFor(int gpu);

// loadCuda() where this process may open one of the driver's devices, which a confined one may only if a GPU was asked
// for. False: it may not, and nothing was loaded.
bool loadCudaIfPermitted(std::initializer_list<const char*> devices = {"/dev/nvidiactl", "/dev/dxg"});

}  // namespace normlens::formats::torchscript
