// An einsum equation in the explicit form that the op rules read: letters only, with an arrow. Thread: pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/graph/types.h"

namespace normlens::formats {

// "...k,kd->...d" for shapes of rank 3 and 2 -> "YZk,kd->YZd". nullopt where a rank is needed and not known.
[[nodiscard]] std::optional<std::string> plainEquation(const std::string& text,
                                                       const std::vector<std::optional<graph::Shape>>& shapes);

}  // namespace normlens::formats
