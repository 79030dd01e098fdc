// Times LayerNorm, the norm that replaces it and a centering where a model runs: the planner's measured prices. Thread:
// one; nothing else should run meanwhile.
#pragma once

#include "core/formats/model.h"
#include "core/protocol/messages.h"

namespace normlens::service {

// Measures one tensor of [rows, width], in the runtime of `like`, with its most common type. Errors: RunFailed,
// Unsupported, Cancelled.
[[nodiscard]] Result<protocol::NormPrices> timeNorms(const formats::Model& like, int64_t rows, int64_t width,
                                                     formats::NormFlavour flavour, const Task& task);

}  // namespace normlens::service
