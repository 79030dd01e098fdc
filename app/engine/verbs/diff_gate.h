// What --fail-above decides about a comparison.
#pragma once

#include <string>
#include <vector>

#include "app/engine/verbs/diff_report.h"

namespace normlens::engine {

// Why the comparison does not pass, of the first type that could be compared: an output beyond the limit, or nothing of
// it to compare. An output without elements is equal to its like; where no output has any, nothing was compared.
// Empty: it passes.
[[nodiscard]] std::string whyAbove(const std::vector<DiffColumn>& columns, double limit);

}  // namespace normlens::engine
