// LayerNorms written out as arithmetic; the pictures are at LayerNorm.
#pragma once

#include <optional>

#include "core/analysis/norms/norms.h"

namespace normlens::analysis {

// `end`: the Div, Mul, Add or Sub that would end the norm. Name and index are left open.
[[nodiscard]] std::optional<LayerNorm> matchDecomposedNorm(const graph::Graph& graph, graph::NodeId end);

// `end`: the RmsNorm that would end the norm.
[[nodiscard]] std::optional<LayerNorm> matchCenteredRmsNorm(const graph::Graph& graph, graph::NodeId end);

}  // namespace normlens::analysis
