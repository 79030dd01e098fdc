// Holds what one interpreter run saw of each program value. Private to formats/torchscript.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/graph/types.h"

namespace normlens::formats::torchscript {

struct ValueRecord {
  enum class Kind : uint8_t { Unseen, Tensor, Scalar, List, Other } kind = Kind::Unseen;
  graph::DType dtype = graph::DType::Unknown;
  std::optional<graph::Shape> shape;  // nullopt: differed between two visits (a loop), or not a tensor
  std::vector<ValueRecord> elements;  // A list's or tuple's.
};

struct ProbeRecords {
  std::vector<ValueRecord> values;  // by program value
};

}  // namespace normlens::formats::torchscript
