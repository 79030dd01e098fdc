// Norms that are nearly LayerNorms: x less its mean, over something made of its spread by another formula. They are
// named with what hinders, so that nobody takes them for unseen; a fold leaves them as they are. Thread: any.
#pragma once

#include <vector>

#include "core/analysis/norms/norms.h"

namespace normlens::analysis {

// norms: those of the graph, whose nodes are no others'.
[[nodiscard]] std::vector<OtherNorm> nearNorms(const graph::Graph& graph, const Norms& norms);

}  // namespace normlens::analysis
