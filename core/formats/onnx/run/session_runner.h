// Runner for ONNX models: sessions of ONNX Runtime. Private to formats/onnx.
#pragma once

#include <memory>

#include "core/formats/model.h"
#include "core/formats/onnx/lower/lower.h"

namespace normlens::formats::onnx {

// lowered: of the model as it was opened, by whose nodes times are reported; outlives the runner. inType: the source is
// the model in another floating type, for the runtime's own kernels. Errors: Unsupported, BadInput.
[[nodiscard]] Result<std::unique_ptr<Runner>> makeRunner(const OnnxSource& source, const Lowered& lowered, bool inType,
                                                         const Tensors& inputs, const RunSettings& settings);

}  // namespace normlens::formats::onnx
