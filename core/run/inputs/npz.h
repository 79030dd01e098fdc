// Files of NumPy arrays: .npz (a zip of arrays) and .npy (one array, named "in_0").
//
// Errors: Unreadable with one plain sentence that names the file; WriteFailed. Thread: pure functions.
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "core/formats/model.h"

namespace normlens::run {

// In the order of the file.
[[nodiscard]] Result<formats::Tensors> readArrays(const std::filesystem::path& path);

// The same for who needs some of them only: an array that cannot be read is there without elements, and why.
struct ReadableArrays {
  formats::Tensors arrays;
  std::map<std::string, Error> unreadable;  // by name
};
[[nodiscard]] Result<ReadableArrays> readWhatCanBeRead(const std::filesystem::path& path);

// All or nothing; the same arrays give the same file.
[[nodiscard]] Status writeNpz(const std::filesystem::path& path, const formats::Tensors& arrays);

}  // namespace normlens::run
