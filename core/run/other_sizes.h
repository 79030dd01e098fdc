// Sizes of a model's inputs beside those of a sample: what holds at one size only shows at others. Thread: pure
// function.
#pragma once

#include <vector>

#include "core/graph/types.h"

namespace normlens::run {

// Ways to change one thing, the best first: a model takes some of them and refuses others.
using SizeTrials = std::vector<std::vector<graph::Shape>>;

// First all free axes together; then, one after the other, each set of axes that have one size (of a sequence, of an
// image's sides). `freeAxes` is by input and may be empty: then axis 0 counts as free where it agrees with that of the
// first input, and every other axis may turn out to be. At most four sets beside the first.
[[nodiscard]] std::vector<SizeTrials> otherSizes(const std::vector<graph::Shape>& shapes,
                                                 const std::vector<std::vector<int>>& freeAxes);

}  // namespace normlens::run
