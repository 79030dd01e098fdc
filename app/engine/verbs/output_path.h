// The rules for OUT (DESIGN section 4). Thread: reads the file system only.
#pragma once

#include <filesystem>
#include <initializer_list>

#include "core/base/result.h"

namespace normlens::engine {

// Errors: Usage where OUT is the model itself or has another suffix than the model, whose format it shares; WriteFailed
// where the folder does not exist or OUT is a folder.
[[nodiscard]] Status checkOutput(const std::filesystem::path& model, const std::filesystem::path& out);

// Where --save-plan writes. Error: Usage where that is one of these files; an empty name is none.
[[nodiscard]] Status checkSavedPlan(const std::filesystem::path& plan,
                                    std::initializer_list<std::filesystem::path> others);

}  // namespace normlens::engine
