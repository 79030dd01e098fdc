// Computes what a pickle's calls make, and checks that their arguments can do no harm: LibTorch believes sizes, strides
// and element types as they are. Private to pickle_scan.cpp. No torch here.
#pragma once

#include <optional>

#include "core/formats/archive/pickle_scan.h"
#include "core/formats/archive/pickle_thing.h"

namespace normlens::formats {

// The tensor of _rebuild_tensor_v2(storage, offset, sizes, strides, ...) and its kin; nullopt: these are no arguments
// of one. Throws BrokenPickle where it does not lie inside its storage.
[[nodiscard]] std::optional<DeclaredTensor> rebuiltTensor(const Thing& arguments);

// Returns whether TorchScript files name this class or function ("torch._utils _rebuild_tensor_v2").
[[nodiscard]] bool isTorchScripts(std::string_view global);
// Returns what LibTorch's unpickler leaves of function(arguments), one of the above; null: an object of a class of the
// file. Throws BrokenPickle for arguments that it would believe wrongly.
[[nodiscard]] ThingPtr calledByLibTorch(const std::string& function, const Thing& arguments);

}  // namespace normlens::formats
