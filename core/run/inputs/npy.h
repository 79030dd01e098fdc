// One .npy array (NumPy format 1 to 3) and back.
//
// Types: bool, int8 to int64, uint8, float16, float32, float64, little-endian; C or Fortran order (turned into C).
// Nothing is unpickled.
// Errors: one plain sentence without the file's name. Thread: pure functions.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/graph/types.h"

namespace normlens::run {

[[nodiscard]] Result<graph::TensorView> parseNpy(std::span<const std::byte> file);

// Returns the header that precedes the elements of a little-endian, row-major array. Error: a type that .npy lacks.
[[nodiscard]] Result<std::string> npyHeader(graph::DType dtype, const graph::Shape& shape);

}  // namespace normlens::run
