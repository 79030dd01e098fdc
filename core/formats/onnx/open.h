// The ONNX format's door: all that formats.cpp sees of it. No onnx, no ONNX Runtime here.
#pragma once

#include <filesystem>
#include <memory>

#include "core/formats/model.h"
#include "core/formats/onnx/run/runtime.h"

namespace normlens::formats::onnx {

// Errors: Unreadable or Unsupported, one plain sentence.
[[nodiscard]] Result<std::unique_ptr<Model>> openOnnx(const std::filesystem::path& path, const Task& task);

}  // namespace normlens::formats::onnx
