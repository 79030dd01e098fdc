// Opening a file: finds the format by its content and hands the work to it. One table row per format (formats.cpp).
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "core/formats/gpu_check.h"
#include "core/formats/model.h"
#include "core/formats/open_choice.h"

namespace normlens::formats {

// Errors: Unreadable or Unsupported with one plain sentence that names what the file is and what to do instead; Usage
// where it holds no model of the name that was chosen.
[[nodiscard]] Result<std::unique_ptr<Model>> openModel(const std::filesystem::path& path, const Task& task,
                                                       const OpenChoice& choice);

struct FormatInfo {
  std::string name;                    // "TorchScript"
  Result<std::string> runtime;         // Version of what runs its models, or why nothing does.
  std::vector<std::string> providers;  // Its parts that run them, where it has such: "CPUExecutionProvider".
};
// Lists the formats that this build reads.
[[nodiscard]] std::vector<FormatInfo> formats();

// Returns whether a copy of `model` may be called `out`: the suffixes are equal, the format uses either, or it is saved
// in another format by that name (a torch.export archive as TorchScript).
[[nodiscard]] bool suffixFits(const std::filesystem::path& model, const std::filesystem::path& out);

// Tries the first GPU with what a measurement needs of it. Error: Internal, LibTorch cannot be loaded.
[[nodiscard]] Result<GpuCheck> checkGpu();

// Loads the runtimes that must be found before a process is confined, and finds what versions they are.
void loadRuntimes();

// Loads what reads and runs models of torch, which takes a quarter of a second, before the first one is opened. Where
// it cannot be loaded, opening one says why.
void loadTorch();

}  // namespace normlens::formats
