// An ONNX file as an OnnxSource, checked before anything is used. Private to formats/onnx.
#pragma once

#include "core/base/task.h"
#include "core/formats/file/mapped_file.h"
#include "core/formats/onnx/source/onnx_source.h"

namespace normlens::formats::onnx {

// Errors: Unreadable or Unsupported, one plain sentence that names the file.
[[nodiscard]] Result<OnnxSource> readModel(const std::shared_ptr<const MappedFile>& file, const Task& task);

// Whether a parsed model is one that may be worked with: names, order, versions, tensors. ONNX Runtime accepts files
// that mean nothing sensible, and onnx's own checker wants all weights in the protobuf; what the reading and folding
// rely on is checked here. Errors: Unreadable or Unsupported; the message begins with a clause that fits behind
// "FILE: ".
[[nodiscard]] Status checkModel(const ModelProto& model);

}  // namespace normlens::formats::onnx
