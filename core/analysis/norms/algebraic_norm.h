// LayerNorms by what their arithmetic computes, whatever way it is written: what is left over when the usual forms
// (decomposed_norm.h) have been looked for. Their statistics may be taken of a view of the input, and come back through
// another one; Keras shapes its input to [1, rows, width, 1] for a batch normalization of the rows.
#pragma once

#include <set>
#include <vector>

#include "core/analysis/norms/norms.h"

namespace normlens::analysis {

// taken: nodes of norms that have been found already. In no order; names and indices are left open.
[[nodiscard]] std::vector<LayerNorm> algebraicNorms(const graph::Graph& graph, const std::set<graph::NodeId>& taken);

}  // namespace normlens::analysis
