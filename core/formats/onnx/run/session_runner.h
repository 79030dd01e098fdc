// Runner for ONNX models: sessions of ONNX Runtime. Private to formats/onnx.
#pragma once

#include <memory>

#include "core/formats/onnx/read/onnx_model.h"

namespace normlens::formats::onnx {

// `model` outlives the runner. Errors: Unsupported, BadInput.
[[nodiscard]] Result<std::unique_ptr<Runner>> makeRunner(const OnnxModel& model, const Tensors& inputs,
                                                         const RunSettings& settings);

}  // namespace normlens::formats::onnx
