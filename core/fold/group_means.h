// The means of a weight's groups. Private to core/fold.
#pragma once

#include <vector>

#include "core/base/result.h"
#include "core/fold/loop_nest.h"
#include "core/graph/types.h"

namespace normlens::fold {

// By the combined index of nest.kept; both lists of loops are sorted and merged (sortAndMergeLoops). Refused where one
// is not finite.
[[nodiscard]] Result<std::vector<double>> groupMeans(const graph::TensorView& in, const LoopNest& nest, int threads);

// sums[k] += the sum of group k.
void addGroupSums(const graph::TensorView& in, const LoopNest& nest, std::vector<double>& sums);

// Centering would spread a number that is not finite over its whole group.
[[nodiscard]] Status checkFinite(const std::vector<double>& means);
[[nodiscard]] tl::unexpected<Error> notFinite();

}  // namespace normlens::fold
