// The ONNX format's door: all that formats.cpp sees of it. No onnx, no ONNX Runtime here.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "core/formats/model.h"

namespace normlens::formats::onnx {

// Errors: Unreadable or Unsupported, one plain sentence.
[[nodiscard]] Result<std::unique_ptr<Model>> openOnnx(const std::filesystem::path& path, const Task& task);

// "1.31.0"; empty in a build without ONNX Runtime: models open and fold then, and do not run.
[[nodiscard]] std::string runtimeVersion();
// Whether the runtime that was loaded has the CUDA execution provider; not whether there is a GPU.
[[nodiscard]] bool runtimeHasCuda();

}  // namespace normlens::formats::onnx
