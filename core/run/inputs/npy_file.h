// One tensor written as a .npy file, in parts and all or nothing: under a temporary name first, then renamed.
#pragma once

#include <filesystem>

#include "core/base/task.h"
#include "core/graph/types.h"

namespace normlens::run {

// Gives the size of the file. bfloat16, which NumPy lacks, is written as float32. Errors: Unsupported (a type without
// plain elements), WriteFailed, Cancelled: then an older file of that name is as it was.
[[nodiscard]] Result<int64_t> writeNpyFile(const std::filesystem::path& path, const graph::TensorView& view,
                                           const Task& task);

}  // namespace normlens::run
