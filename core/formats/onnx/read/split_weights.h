// Takes the large tensors of the main graph out of a serialized ModelProto, before anything is parsed.
//
// Parsing a ModelProto copies every weight once. Here the file's bytes are walked field by field; what is not a large
// initializer is copied into a small message of the same form, and large initializers are left where they are.
// Private to formats/onnx.
#pragma once

#include <string>
#include <vector>

#include "core/formats/onnx/read/wire.h"
#include "core/formats/onnx/source/onnx_source.h"

namespace normlens::formats::onnx {

// An initializer whose data was left out of the skeleton.
struct LargeTensor {
  std::string name;
  Bytes data;  // in the given bytes; not necessarily aligned
  int field = TensorProto::kRawDataFieldNumber;
};

struct SplitModel {
  std::string skeleton;  // serialized ModelProto
  std::vector<LargeTensor> tensors;
};

// Smaller tensors stay: shape inference reads them, and they cost nothing.
inline constexpr size_t kLargeTensorBytes = 1024;

// nullopt: these bytes are no protobuf, or cut off.
[[nodiscard]] std::optional<SplitModel> splitWeights(Bytes model);

}  // namespace normlens::formats::onnx
