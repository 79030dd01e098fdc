// Whole .npz files. Errors: those of core/run/inputs/npz.h; WriteFailed. Thread: pure functions.
#pragma once

#include <filesystem>

#include "core/formats/model.h"

namespace normlens::run {

// A whole .npy file: bfloat16, which NumPy lacks, is written as float32. Error: a type without plain elements.
[[nodiscard]] Result<std::vector<std::byte>> formatNpy(const graph::TensorView& given);

// All arrays, or the error of the first that cannot be read.
[[nodiscard]] Result<formats::Tensors> readArrays(const std::filesystem::path& path);
// All or nothing; the same arrays give the same file.
[[nodiscard]] Status writeNpz(const std::filesystem::path& path, const formats::Tensors& arrays);

}  // namespace normlens::run
