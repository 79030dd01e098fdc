// RMSNorms written out as arithmetic; the picture is at OtherNorm.
#pragma once

#include <optional>

#include "core/analysis/norms/norms.h"

namespace normlens::analysis {

// `middle`: the Div or Mul that would bring x and its root mean square together. The name is left open.
[[nodiscard]] std::optional<OtherNorm> matchDecomposedRmsNorm(const graph::Graph& graph, graph::NodeId middle);

}  // namespace normlens::analysis
