// An einsum equation in the explicit form that the op rules read: letters only, with an arrow. Thread: pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/graph/types.h"

namespace normlens::formats {

// Letters, commas, spaces, at most one "..." in each operand and in the result, at most one arrow. Lists of numbers for
// letters, as torch.einsum takes them beside a text, are no equation.
[[nodiscard]] bool isEquation(std::string_view text);

// "...k,kd->...d" for shapes of rank 3 and 2 -> "YZk,kd->YZd". nullopt where a rank is needed and not known, or the
// text is no equation.
[[nodiscard]] std::optional<std::string> plainEquation(const std::string& text,
                                                       const std::vector<std::optional<graph::Shape>>& shapes);

}  // namespace normlens::formats
