// What LayerNorms' means are worth to the outputs: RMSNorm in the place of one after the other as it is, beside the
// same with its zero mean made first, then in the places of all at once. Paper 002 asks it of the vectors, this of the
// model.
//
// Thread: one.
#pragma once

#include "core/base/task.h"
#include "core/protocol/probe_messages.h"
#include "core/service/original_in_type.h"

namespace normlens::service {

// In the original's own type. Stopped, it tells what it has; errors: Cancelled before anything was measured.
[[nodiscard]] Result<protocol::ProbeSwaps> probeSwaps(OriginalInType& original, const AnalysedModel& subject,
                                                      const protocol::ProbeSwapsParams& params, const Task& task);

}  // namespace normlens::service
