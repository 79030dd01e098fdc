// Norms that are nearly LayerNorms: x less its mean, over something made of its spread by another formula. They are
// named with what hinders, so that nobody takes them for unseen; a fold leaves them as they are. Thread: any.
#pragma once

#include <vector>

#include "core/analysis/norms/norms.h"

namespace normlens::analysis {

constexpr const char* kNearLayerNorm = "a LayerNorm by another formula";  // as their kinds begin

// `layerNorms`: those of the graph, whose nodes are no others'.
[[nodiscard]] std::vector<OtherNorm> nearNorms(const graph::Graph& graph, const std::vector<LayerNorm>& layerNorms);

}  // namespace normlens::analysis
