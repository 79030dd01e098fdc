// Finds which files beside it a serialized model names; no weight is touched. Private to formats/onnx.
#pragma once

#include <optional>
#include <set>
#include <string>

#include "core/formats/onnx/read/tensors/wire.h"

namespace normlens::formats::onnx {

// The locations of all external data, as they are written in the model; nullopt: these bytes are no model.
[[nodiscard]] std::optional<std::set<std::string>> externalLocations(Bytes model);

}  // namespace normlens::formats::onnx
