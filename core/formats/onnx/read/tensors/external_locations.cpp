#include "core/formats/onnx/read/tensors/external_locations.h"

#include "core/formats/onnx/read/bodies.h"
#include "core/formats/onnx/read/tensors/split_weights.h"

namespace normlens::formats::onnx {

std::optional<std::set<std::string>> externalLocations(Bytes model) {
  const auto split = splitWeights(model);
  ModelProto skeleton;
  if (!split || !skeleton.ParseFromString(split->skeleton)) return std::nullopt;
  std::set<std::string> locations;
  eachTensor(skeleton, [&](const TensorProto& tensor) {
    for (const auto& entry : tensor.external_data()) {
      if (entry.key() == "location") locations.insert(entry.value());
    }
  });
  return locations;
}

}  // namespace normlens::formats::onnx
