// Element types under the names that pickles of torch give them. No torch here.
#pragma once

#include <string_view>

#include "core/graph/types.h"

namespace normlens::formats {

// Returns the type of "FloatStorage"; Unknown where the graph has no name for the type.
[[nodiscard]] graph::DType dtypeOfStorage(std::string_view type);

}  // namespace normlens::formats
