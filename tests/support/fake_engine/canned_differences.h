// What the fake engine answers about differences: errors that grow with depth, by type; float16 cannot be run.
#pragma once

#include "core/base/result.h"
#include "core/protocol/difference_messages.h"
#include "core/protocol/weight_messages.h"
#include "tests/support/fake_engine/canned_model.h"

namespace normlens::fake {

// A file whose name holds "broken" is no model.
[[nodiscard]] Result<protocol::DiffResult> diffResult(const CannedModel& model, const protocol::DiffParams& params);
[[nodiscard]] Result<protocol::TensorPair> tensorPair(const CannedModel& model,
                                                      const protocol::TensorPairParams& params);
// The first of the weights was centered, the others changed otherwise.
[[nodiscard]] protocol::WeightChanges weightChanges(const protocol::WeightChangesParams& params);
// A norm that folds is off by rounding.
[[nodiscard]] protocol::ForcedError forcedError(const CannedModel& model, const protocol::ForcedErrorParams& params);

}  // namespace normlens::fake
