// The targets of an export as the window lists them. Thread: constant data.
#pragma once

#include <string_view>

#include "core/protocol/messages.h"

namespace normlens::service {

// Returns those that load files of this format. First, where none of them takes the norm that is written without a
// target: any runtime, with an empty name.
[[nodiscard]] protocol::Targets describeTargets(std::string_view format);

}  // namespace normlens::service
