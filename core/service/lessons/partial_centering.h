// A share of the mean taken out of what one LayerNorm rests on, and an RMSNorm in its place: what becomes of its
// input's means and of the model's outputs. Only with all of it gone do the outputs stay (papers 000 and 001, CCWT).
// Thread: one.
#pragma once

#include "core/protocol/lesson_messages.h"
#include "core/service/original_in_type.h"

namespace normlens::service {

// Precondition: the analysis has the norm. The result records what makes it impossible. Errors: Usage (no such type),
// Cancelled.
[[nodiscard]] Result<protocol::PartialCentering> partialCentering(OriginalInType& original,
                                                                  const AnalysedModel& subject,
                                                                  const protocol::PartialCenteringParams& params,
                                                                  const Task& task);

}  // namespace normlens::service
