// The result of a run of the laboratory, for people and for programs. Thread: pure functions.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/lab/run_record.h"

namespace normlens::engine {

// Returns RunResult as it is, and "schema".
[[nodiscard]] nlohmann::json labReport(const lab::RunResult& result);
// Returns networks with their last numbers, costs if there are any, findings.
[[nodiscard]] std::vector<std::string> labLines(const lab::RunResult& result);

}  // namespace normlens::engine
