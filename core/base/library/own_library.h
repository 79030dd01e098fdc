// Libraries of NormLens that are loaded when they are first needed. Thread: any.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "core/base/result.h"

namespace normlens {

// The norm ops (kernels/ops), which a model file may use too.
inline constexpr const char* kOpsLibrary = "libnormlens_ops.so";
// This one opens and runs TorchScript and torch.export files; LibTorch comes with it.
inline constexpr const char* kTorchScriptLibrary = "libnormlens_torchscript.so";

// Finds a library of NormLens beside the program, or in lib/ or lib/normlens/ next to the program's folder. nullopt: it
// is in none of them.
[[nodiscard]] std::optional<std::filesystem::path> ownLibrary(const char* name);

// Loads it, if need be; it stays loaded. global: its symbols serve libraries that are loaded later.
// Error: Internal, with the loader's own words and the folders that the loader searches.
[[nodiscard]] Result<void*> loadOwnLibrary(const char* name, bool global = false);

// Loads a library by the loader's own search, before others need it: an error with it is then reported by
// loadOwnLibrary(), whose own loader may no longer see that file. Call while the process has one thread.
void loadAhead(const char* name);

// The address of a symbol of a library that is loaded so. Error: as above, or that the symbol is not in it.
[[nodiscard]] Result<void*> symbolOfOwnLibrary(const char* library, const char* symbol);

// The folders in which the loader looks for what a library of this program needs, as a list in words: those of
// LD_LIBRARY_PATH, then the program's RUNPATH, then the system's. Its cache (ldconfig) names more.
[[nodiscard]] std::string loaderFolders();

// Returns what dlerror() reports of the last failed call, or a sentence where it reports nothing.
[[nodiscard]] std::string loaderError();

}  // namespace normlens
