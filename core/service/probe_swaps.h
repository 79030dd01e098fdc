// Measures the worth of LayerNorms' means to the outputs: RMSNorm in the place of one after the other as it is, beside
// the same with its zero mean made first, then in the places of all at once. Paper 002 measures it on the vectors, this
// on the model.
//
// Thread: one.
#pragma once

#include "core/base/task.h"
#include "core/protocol/probe_messages.h"
#include "core/service/original_in_type.h"

namespace normlens::service {

// Runs in the original's own type. Stopped, it returns what it has; errors: Cancelled before anything was measured.
[[nodiscard]] Result<protocol::ProbeSwaps> probeSwaps(OriginalInType& original, const AnalysedModel& subject,
                                                      const protocol::ProbeSwapsParams& params, const Task& task);

}  // namespace normlens::service
