// Reports on ONNX Runtime itself. No onnx, no ONNX Runtime here.
#pragma once

#include <string>
#include <vector>

namespace normlens::formats::onnx {

// "1.31.0"; empty in a build without ONNX Runtime: models open and fold then, and do not run.
[[nodiscard]] std::string runtimeVersion();
// Execution providers of the runtime that was loaded, "CPUExecutionProvider" among them; not whether their hardware is
// there.
[[nodiscard]] std::vector<std::string> runtimeProviders();
[[nodiscard]] bool runtimeHasCuda();

}  // namespace normlens::formats::onnx
