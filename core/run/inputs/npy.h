// One .npy array (NumPy format 1 to 3) and back.
//
// Types: bool, int8 to int64, uint8, float16, float32, float64, little-endian; C or Fortran order (turned into C).
// Nothing is unpickled.
// Errors: one plain sentence without the file's name. Thread: pure functions.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/base/task.h"
#include "core/graph/types.h"

namespace normlens::run {

// One tensor written as a .npy file, in parts and all or nothing: under a temporary name first, then renamed.

// Gives the size of the file. bfloat16, which NumPy lacks, is written as float32. Errors: Unsupported (a type without
// plain elements), WriteFailed, Cancelled: then an older file of that name is as it was.
[[nodiscard]] Result<int64_t> writeNpyFile(const std::filesystem::path& path, const graph::TensorView& view,
                                           const Task& task);

[[nodiscard]] Result<graph::TensorView> parseNpy(std::span<const std::byte> file);

// Returns the header that precedes the elements of a little-endian, row-major array. Error: a type that .npy lacks.
[[nodiscard]] Result<std::string> npyHeader(graph::DType dtype, const graph::Shape& shape);

}  // namespace normlens::run
