// Libraries of NormLens that are loaded when they are first needed. Thread: any.
#pragma once

#include "core/base/result.h"

namespace normlens {

// The address of a symbol of one that lies beside the program, or in the folder lib next to the program's own. It stays
// loaded. Error: Internal, where there is none.
[[nodiscard]] Result<void*> symbolOfOwnLibrary(const char* library, const char* symbol);

}  // namespace normlens
