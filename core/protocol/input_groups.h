// Groups inputs as people read them: the arrays of one tuple, list or dict that are alike form one group.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "core/protocol/messages.h"

namespace normlens::protocol {

struct InputGroup {
  std::string names;  // "x", "past.0.0 to past.11.1"
  InputSpec each;     // Their common description, under the first one's name.
};

[[nodiscard]] std::vector<InputGroup> inputGroups(std::span<const InputSpec> inputs);

}  // namespace normlens::protocol
