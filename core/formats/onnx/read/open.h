// The ONNX format's door: all that formats.cpp sees of it. No onnx, no ONNX Runtime here.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "core/formats/model.h"

namespace normlens::formats::onnx {

// Errors: Unreadable or Unsupported, one plain sentence.
[[nodiscard]] Result<std::unique_ptr<Model>> openOnnx(const std::filesystem::path& path, const Task& task);

// "1.31.0"; empty in a build without ONNX Runtime: models open and fold then, and do not run.
[[nodiscard]] std::string runtimeVersion();
// Execution providers of the runtime that was loaded, "CPUExecutionProvider" among them; not whether their hardware is
// there.
[[nodiscard]] std::vector<std::string> runtimeProviders();
[[nodiscard]] bool runtimeHasCuda();

}  // namespace normlens::formats::onnx
