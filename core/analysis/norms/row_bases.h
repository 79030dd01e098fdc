// Finds the places of norms that are written out: the roots, and the values that each may be the norm of. Private to
// core/analysis.
#pragma once

#include <vector>

#include "core/analysis/norms/row_values.h"

namespace normlens::analysis {

// sqrt(something + something), or the RmsNorm of a difference that nothing else reads.
[[nodiscard]] bool mayBeRoot(const graph::Graph& graph, const graph::Node& node);

// Returns what may be the input of the norm with this root, and its rows: the last values before the statistics. The
// likeliest first.
[[nodiscard]] std::vector<RowBase> basesBefore(const graph::Graph& graph, graph::NodeId root);

}  // namespace normlens::analysis
