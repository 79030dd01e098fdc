// An ONNX file as an OnnxSource, checked before anything is used. Private to formats/onnx.
#pragma once

#include "core/base/task.h"
#include "core/formats/file/mapped_file.h"
#include "core/formats/onnx/read/onnx_source.h"

namespace normlens::formats::onnx {

// Errors: Unreadable or Unsupported, one plain sentence that names the file.
[[nodiscard]] Result<OnnxSource> readModel(const std::shared_ptr<const MappedFile>& file, const Task& task);

}  // namespace normlens::formats::onnx
