// LayerNorms and RMSNorms that are written out in several nodes, by what their arithmetic computes, whatever way it is
// written. Their statistics may be taken of a view of the input, and come back through another one; Keras shapes its
// input to [1, rows, width, 1] for a batch normalization of the rows.
#pragma once

#include "core/analysis/norms/norms.h"

namespace normlens::analysis {

// In the order of their roots; names and indices are left open.
[[nodiscard]] Norms writtenNorms(const graph::Graph& graph);

}  // namespace normlens::analysis
