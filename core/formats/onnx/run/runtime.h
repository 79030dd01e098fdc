// Reports on ONNX Runtime itself. No onnx, no ONNX Runtime here.
#pragma once

#include <string>
#include <vector>

#include "core/base/result.h"

namespace normlens::formats::onnx {

// "1.31.0"; loads the runtime on the first call, before anything else uses it. Errors: Unsupported, where it is not
// found or older than the headers that this was built with: models open and fold then, and do not run. Thread: any.
[[nodiscard]] Result<std::string> runtimeVersion();
// Execution providers of the runtime, "CPUExecutionProvider" among them; not whether their hardware is there. Empty
// where there is no runtime.
[[nodiscard]] std::vector<std::string> runtimeProviders();
[[nodiscard]] bool runtimeHasCuda();

}  // namespace normlens::formats::onnx
