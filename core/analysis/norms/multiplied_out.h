// (x - mean) * scale + beta, multiplied out: x * scale + (beta - mean * scale). Keras writes its norms so. Private to
// core/analysis.
#pragma once

#include <optional>
#include <vector>

#include "core/analysis/norms/norms.h"

namespace normlens::analysis {

struct MultipliedOut {
  graph::ValueId input = graph::kNoValue;
  graph::ValueId mean = graph::kNoValue;
  graph::ValueId scale = graph::kNoValue;
  graph::ValueId beta = graph::kNoValue;  // made of constants; kNoValue: none
  LayerNorm::LeftOut withoutMean;         // what stays without the mean's share
  std::vector<graph::ValueId> made;       // by the nodes between scale and mean and the sum
};

// `end`: the Add or Sub that would be the sum. One entry for each way to read it: either factor may be the scale.
[[nodiscard]] std::vector<MultipliedOut> readMultipliedOut(const graph::Graph& graph, graph::NodeId end);

}  // namespace normlens::analysis
