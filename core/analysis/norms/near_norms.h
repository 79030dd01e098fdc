// Norms that are nearly LayerNorms: x less its mean, over something made of its spread by another formula. They are
// named with what hinders, so that nobody takes them for unseen; a fold leaves them as they are. Thread: any.
#pragma once

#include <vector>

#include "core/analysis/norms/norms.h"

namespace normlens::analysis {

// Their kind.
constexpr const char* kNearLayerNorm =
    "a LayerNorm by another formula, kept: what it divides by is not the root of a LayerNorm's variance plus eps, "
    "though its mean could be dropped exactly";

// norms: those of the graph, whose nodes are no others'.
[[nodiscard]] std::vector<OtherNorm> nearNorms(const graph::Graph& graph, const Norms& norms);

}  // namespace normlens::analysis
