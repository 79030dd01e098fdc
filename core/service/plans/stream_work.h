// Computes what narrow streams save, from the shapes in the graph. Thread: pure.
#pragma once

#include <vector>

#include "core/service/plans/narrow_streams.h"

namespace normlens::service {

[[nodiscard]] StreamWork streamWork(const analysis::Analysis& analysis, const analysis::Plan& plan,
                                    const std::vector<analysis::Stream>& streams, const fold::StreamEdits& edits);

}  // namespace normlens::service
