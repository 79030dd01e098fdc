// What an exported model says of its making (metadata_props, written by the service through Model::annotate).
// Private to formats/onnx.
#pragma once

#include <string>

#include "core/formats/onnx/onnx_source.h"

namespace normlens::formats::onnx {

// "Folded by NormLens 0.1.0: 7 of 7 LayerNorms ..."; empty for a model that NormLens did not make.
[[nodiscard]] std::string foldHistory(const ModelProto& model);

}  // namespace normlens::formats::onnx
