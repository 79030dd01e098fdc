// Sums and means in all their spellings: reductions, and products with constants that are the same everywhere: 1, or
// 1/n. Private to core/analysis.
#pragma once

#include <optional>
#include <vector>

#include "core/graph/graph.h"

namespace normlens::analysis {

struct RowSum {
  graph::ValueId data = graph::kNoValue;
  std::vector<int64_t> axes = {};  // They index the data.
  bool ofSquaredDistance = false;  // It sums squares of the data's distances from their mean: a biased variance.
  double factor = 1;               // Multiplies the mean over them.
  // For each axis of what is made, which axis of the data it is; -1: it repeats.
  std::vector<int64_t> order = {};
};
[[nodiscard]] std::optional<RowSum> rowSum(const graph::Graph& graph, const graph::Node& node);

// The number that every element of a constant is.
[[nodiscard]] std::optional<double> sameEverywhere(const graph::Graph& graph, graph::ValueId value);

}  // namespace normlens::analysis
