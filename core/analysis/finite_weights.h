// Claims on weights that have no mean, withdrawn: what cannot be centered blocks a norm, and the rest folds.
#pragma once

#include <vector>

#include "core/analysis/claims.h"
#include "core/graph/graph.h"

namespace normlens::analysis {

// Reads all weights that some claim would center.
void refuseWithoutMean(const graph::Graph& graph, std::vector<Claim>& claims);

}  // namespace normlens::analysis
