// LibTorch's CUDA half, which is not linked: loading it costs every start 0.2 to 0.4 s. Private to formats/torchscript
// and to the laboratory's training.
//
// Torch settles once in a process whether there is CUDA, when it is first asked, and a convolution or a batch norm on
// the CPU asks. So a process that may use a GPU loads it before anything else of torch runs.
#pragma once

#include "core/base/result.h"

namespace normlens::formats::torchscript {

// After it has succeeded torch's CUDA devices can be used; looked for once in a process. Error: Unsupported, which of
// driver, library and GPU is missing. Thread: any.
[[nodiscard]] Status loadCuda();

// The same, for the GPU of that number. Error: Unsupported, there are fewer, too.
[[nodiscard]] Status loadCudaFor(int gpu);

// loadCuda() where this process may open the driver's device, which a confined one may only if a GPU was asked for.
// False: it may not, and nothing was loaded.
bool loadCudaIfPermitted(const char* device = "/dev/nvidiactl");

}  // namespace normlens::formats::torchscript
