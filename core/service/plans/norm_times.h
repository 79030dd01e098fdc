// What LayerNorm, the norm that replaces it and a centering take where a model runs: the planner's measured prices.
// Thread: one; nothing else should run meanwhile.
#pragma once

#include "core/formats/model.h"

namespace normlens::service {

// Medians over one tensor of [rows, width], in microseconds.
struct NormTimes {
  int64_t rows = 0, width = 0;
  double layerNorm = 0;
  double rmsNorm = 0;
  double centering = 0;  // x - mean(x): what it adds to a pass
};

// In the runtime of `like`, with its most common type. Errors: RunFailed, Unsupported, Cancelled.
[[nodiscard]] Result<NormTimes> timeNorms(const formats::Model& like, int64_t rows, int64_t width,
                                          formats::NormFlavour flavour, const Task& task);

}  // namespace normlens::service
