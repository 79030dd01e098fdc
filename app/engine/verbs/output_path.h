// The rules for OUT, and a model saved there. Thread: any; checks only read the file system.
#pragma once

#include <filesystem>
#include <initializer_list>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/base/task.h"
#include "core/service/service.h"

namespace normlens::engine {

using Files = std::vector<std::filesystem::path>;  // of a model: itself, then what it reads beside it

// Errors: Usage where OUT is one of the model's files or has another suffix than the model, whose format it shares;
// WriteFailed where the folder does not exist or OUT is a folder, a device or a pipe.
[[nodiscard]] Status checkOutput(const Files& model, const std::filesystem::path& out);

// Checks the path of another file beside the model: "the plan", "the table". Errors: Usage where that is one of the
// model's files or of these, an empty name is none; WriteFailed as above.
[[nodiscard]] Status checkWrittenBeside(const std::string& what, const std::filesystem::path& path, const Files& model,
                                        std::initializer_list<std::filesystem::path> others);

// Saves what a verb made of a model; returns how long that took, in milliseconds.
[[nodiscard]] Result<double> saveTo(const formats::Model& model, const std::string& path, const Task& task);

}  // namespace normlens::engine
