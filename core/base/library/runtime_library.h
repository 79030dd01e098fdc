// The libraries of others that run models: LibTorch and ONNX Runtime. They are looked for when one is first needed, as
// Python environments move and change, and stay loaded. Thread: any; the first call belongs before the walls of a
// confined process, behind which nothing can be looked for.
#pragma once

#include <filesystem>
#include <string>

#include "core/base/result.h"

namespace normlens {

struct RuntimeLibrary {
  void* handle = nullptr;  // of dlopen
  std::filesystem::path path;
  std::string version = {};  // of LibTorch, "2.15.0+cu132"; empty: no file beside it names one
};

// Loads a runtime's library. Its folder is the one that an environment variable names (NORMLENS_TORCH,
// NORMLENS_ONNXRUNTIME), else lib/torch or lib/onnxruntime next to the program's folder, else that of the Python
// package where the program is part of a package beside it, else one in which the loader looks: LD_LIBRARY_PATH, the
// program's RUNPATH, the system's. Errors: Unsupported, in one sentence with the loader's own words.
[[nodiscard]] const Result<RuntimeLibrary>& onnxRuntimeLibrary();
// The smallest library of LibTorch; the others lie beside it.
[[nodiscard]] const Result<RuntimeLibrary>& torchLibrary();

}  // namespace normlens
