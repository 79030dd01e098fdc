// The papers' claims in the light of a run's numbers. Thread: pure functions.
#pragma once

#include <optional>
#include <vector>

#include "core/protocol/run_record.h"

namespace normlens::lab {

// Each function returns findings that findingsOf() puts together.
[[nodiscard]] std::vector<Finding> sameTraining(const RunResult& result);
[[nodiscard]] std::vector<Finding> depthOrdering(const RunResult& result);
[[nodiscard]] std::vector<Finding> costOfSteps(const RunResult& result);

// Papers 002 §3.3, which trains transformers: that the mean of what norms read is small without LayerNorm's help. Holds
// within three deviations of a random direction's angle. nullopt: no transformer with RMSNorm alone was trained.
[[nodiscard]] std::optional<Finding> rightAngles(const RunResult& result);

// Weights that differ by less count as the same: 1e-5 (papers 000 §5.4, 001 H.4) in float32, 1e-12 in float64, and
// bfloat16's epsilon where that multiplies.
[[nodiscard]] double sameWeightsLimit(Precision precision);

// Returns the findings of the experiment, from settings, records and costs.
[[nodiscard]] std::vector<Finding> findingsOf(const RunResult& result);

}  // namespace normlens::lab
