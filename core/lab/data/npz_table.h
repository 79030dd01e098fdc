// Examples of a NumPy file: array x [n, ...] of numbers, and one of whole numbers from 0 on, the classes [n].
// Thread: pure function.
#pragma once

#include <filesystem>
#include <string>

#include "core/lab/data/split.h"

namespace normlens::lab {

// `target`: the name of the classes' array; empty: "y". Errors: Unreadable for the file, a whole sentence; BadInput for
// what is in it, half a sentence.
[[nodiscard]] Result<Rows> readNpzTable(const std::filesystem::path& path, const std::string& target);

}  // namespace normlens::lab
