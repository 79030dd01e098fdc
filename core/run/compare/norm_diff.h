// The outputs of the LayerNorms of a model against those of the norms that stand in their place in another, norm by
// norm: names the place where two models part. Thread: one thread per model.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/analysis/norms/norms.h"
#include "core/run/compare/diff.h"
#include "core/run/compare/sites.h"

namespace normlens::run {

// One row per norm that has a partner (see sites.h) and was reached on both sides, in execution order.
[[nodiscard]] Result<std::vector<TensorDiff>> compareNorms(const formats::Model& a,
                                                           const std::vector<analysis::LayerNorm>& normsOfA,
                                                           const formats::Model& b, const formats::Tensors& inputs,
                                                           const Task& task);

// Where values of `a` are found in both: a norm's output as above, any other value with the one of its name. Those that
// have no partner are left out.
[[nodiscard]] std::vector<Site> sitesOf(const formats::Model& a, const std::vector<analysis::LayerNorm>& normsOfA,
                                        const std::vector<graph::ValueId>& values, const formats::Model& b);

// The first row with max_rel above the limit; empty if none.
[[nodiscard]] std::string firstDiverging(const std::vector<TensorDiff>& norms, double limit);

}  // namespace normlens::run
