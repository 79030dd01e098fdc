// Libraries of NormLens that need LibTorch and are loaded when they are first needed. Thread: any.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "core/base/result.h"

namespace normlens {

// The norm ops (kernels/ops), which a model file may use too. They serve each LibTorch that has its stable ABI.
inline constexpr const char* kOpsLibrary = "libnormlens_ops.so";
// This one opens and runs TorchScript and torch.export files. It is built for one version of LibTorch and has that in
// its file's name, as all others but the ops have: libnormlens_torchscript-2.15.so.
inline constexpr const char* kTorchScriptLibrary = "libnormlens_torchscript.so";

// Finds a library of NormLens beside the program, or in lib/ or lib/normlens/ next to the program's folder, for the
// LibTorch that was found. nullopt: it is in none of them.
[[nodiscard]] std::optional<std::filesystem::path> ownLibrary(const char* name);

// Returns the version of the LibTorch that was found; for one that names none, the newest that NormLens is built for.
// Errors: Unsupported, where there is no LibTorch or NormLens is not built for that version, Internal where NormLens is
// not complete. The first call belongs before the walls: see torchLibrary().
[[nodiscard]] Result<std::string> torchVersion();

// Loads it and LibTorch, if need be; they stay loaded. global: its symbols serve libraries that are loaded later.
// Errors: as torchVersion(), or Internal with the loader's own words.
[[nodiscard]] Result<void*> loadOwnLibrary(const char* name, bool global = false);

// The address of a symbol of a library that is loaded so. Error: as above, or that the symbol is not in it.
[[nodiscard]] Result<void*> symbolOfOwnLibrary(const char* library, const char* symbol);

// The folders in which the loader looks for what a library of this program needs, as a list in words: those of
// LD_LIBRARY_PATH, then the program's RUNPATH, then the system's. Its cache (ldconfig) names more.
[[nodiscard]] std::string loaderFolders();

// Returns what dlerror() reports of the last failed call, or a sentence where it reports nothing.
[[nodiscard]] std::string loaderError();

}  // namespace normlens
