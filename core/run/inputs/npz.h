// Files of NumPy arrays: .npz (a zip of arrays) and .npy (one array, named "in_0").
//
// Errors: Unreadable with one plain sentence that names the file; WriteFailed. Thread: pure functions.
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "core/formats/model.h"

namespace normlens::run {

// Arrays are in the order of the file. One that cannot be read is there without elements, and why.
struct ReadableArrays {
  formats::Tensors arrays;
  std::map<std::string, Error> unreadable;  // by name
};
[[nodiscard]] Result<ReadableArrays> readWhatCanBeRead(const std::filesystem::path& path);

}  // namespace normlens::run
