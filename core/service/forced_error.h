// Computes what folding one LayerNorm against its verdict, or replacing one or all of them as they are, would do to the
// model's outputs, in any floating type, beside the noise that the model's own rounding makes there. Thread: one.
#pragma once

#include "core/protocol/difference_messages.h"
#include "core/service/original_in_type.h"

namespace normlens::service {

// The folds of one norm with what can be centered for it in the file; a plan without edits where nothing folds it.
// Trusting: also against its verdict.
[[nodiscard]] analysis::Plan foldedAlone(const analysis::Analysis& analysis, int norm, bool trusting);

// Precondition: the analysis has the norm, or all are meant. The result records what the type, or the norm, makes
// impossible. Errors: Usage (no such type), Cancelled.
[[nodiscard]] Result<protocol::ForcedError> forcedError(OriginalInType& original, const AnalysedModel& subject,
                                                        const protocol::ForcedErrorParams& params, const Task& task);

}  // namespace normlens::service
