// ONNX Runtime's process-wide part. Private to formats/onnx; only where ONNX Runtime is there.
#pragma once

#include <onnxruntime_cxx_api.h>

#include <memory>
#include <string>

#include "core/base/result.h"

namespace normlens::formats::onnx {

// The one environment of the process: made on first use, kept by each session. Thread: any, after runtimeVersion().
[[nodiscard]] std::shared_ptr<Ort::Env> ortEnvironment();

// Returns ONNX Runtime's message without its source files, function names and codes, as one line.
[[nodiscard]] std::string plainOrtText(const std::string& given);

}  // namespace normlens::formats::onnx
