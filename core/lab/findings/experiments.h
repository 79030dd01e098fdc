// Each function returns findings that findingsOf() puts together. Private to findings.
#pragma once

#include <vector>

#include "core/lab/run_record.h"

namespace normlens::lab {

[[nodiscard]] std::vector<Finding> sameTraining(const RunResult& result);
[[nodiscard]] std::vector<Finding> depthOrdering(const RunResult& result);
[[nodiscard]] std::vector<Finding> costOfSteps(const RunResult& result);

}  // namespace normlens::lab
