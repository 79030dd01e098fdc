// LibTorch's CUDA half, which is not linked (loading it costs every start 0.2 to 0.4 s): loaded when a GPU is asked
// for. Private to formats/torchscript.
#pragma once

#include "core/base/result.h"

namespace normlens::formats::torchscript {

// After it has succeeded torch's CUDA devices can be used; looked for once in a process. Error: Unsupported, which of
// driver, library and GPU is missing. Thread: any.
[[nodiscard]] Status loadCuda();

}  // namespace normlens::formats::torchscript
