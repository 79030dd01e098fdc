// Time of one step of each network, measured in turns. Thread: one at a time.
#pragma once

#include <optional>
#include <vector>

#include "core/lab/run_record.h"
#include "core/lab/training/group.h"

namespace normlens::lab {

// settings.rounds rounds; in each every network does settings.steps_per_round steps, forwards and then backwards
// through the list (A B C C B A), so that a drift of the clock meets all alike. nullopt: stopped.
[[nodiscard]] std::optional<std::vector<StepCost>> measureSteps(const RunSettings& settings, Group& group,
                                                                const Group::Sources& sources,
                                                                const Member::GoOn& goOn);

}  // namespace normlens::lab
