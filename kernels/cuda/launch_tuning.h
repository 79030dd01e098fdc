// LaunchTuning in words, so that a run can choose without being built again.
#pragma once

#include <optional>
#include <string_view>

#include "kernels/cuda/launch_config.h"

namespace normlens::kernels::cuda {

// "few-rows=0,wide-row-bytes=262144,cluster-blocks=8,persistent-blocks=3": what is not named keeps its default. nullopt
// for another name, or a number that is not whole and positive or zero.
std::optional<LaunchTuning> tuningFrom(std::string_view text);

// Returns the tuning in the variable NORMLENS_LAUNCH, read at the first call. Throws std::runtime_error if it is not
// readable. Thread: any.
const LaunchTuning& tuningOfProcess();

}  // namespace normlens::kernels::cuda
