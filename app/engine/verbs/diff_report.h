// Formats the results of the verb `diff`: its JSON object (field names are stable) and its lines of text.
// Thread: pure functions.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/run/compare/compare_models.h"

namespace normlens::engine {

// A column compares two models in one floating type, or has why that failed.
struct DiffColumn {
  std::string dtype;
  std::string note;  // what the figures are about where that is not the type itself
  Result<run::ModelDiff> diff;
};

// outputs, norms, first_diverging: of the first column that could be done. With more than one, "precisions" has all.
[[nodiscard]] nlohmann::json diffReport(const std::vector<DiffColumn>& columns, uint64_t seed);

// Lines for a person. Of one column every measure, of several a table of max_rel by norm and type.
[[nodiscard]] std::vector<std::string> diffLines(const std::vector<DiffColumn>& columns);

// Decides --fail-above. Returns why the comparison does not pass, of the first type that could be compared: an output
// beyond the limit, or nothing of it to compare. An output without elements is equal to its like; where no output has
// any, nothing was compared. Empty: it passes.
[[nodiscard]] std::string whyAbove(const std::vector<DiffColumn>& columns, double limit);

}  // namespace normlens::engine
