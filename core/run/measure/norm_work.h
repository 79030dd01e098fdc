// The arithmetic and the memory traffic of norms, from the shapes in the graph: the theory beside a measurement.
//
// The operations of each row are those of base/geometry/norm_cost.h (paper 001, G.1): 8d + 4 ticks for a LayerNorm of d
// elements, 4d + 2 for an RMSNorm, 2d + 2 for a centering (paper 000, A.8.1, counts 7d and 4d). gamma and beta count
// where the norm has them. `reductions`: passes over a row before the results can be written, two for LayerNorm (the
// mean, then the variance), one for RMSNorm and a centering. Thread: pure functions.
#pragma once

#include <string>
#include <vector>

#include "core/analysis/norms/norms.h"
#include "core/base/geometry/norm_cost.h"
#include "core/graph/graph.h"

namespace normlens::run {

using NormKind = geometry::CountedNorm;
[[nodiscard]] std::string_view normKindName(NormKind kind);  // "LayerNorm", "RMSNorm", "centering"

struct NormWork {
  std::string name;
  NormKind kind = NormKind::LayerNorm;
  int64_t rows = 0, width = 0;
  int reductions = 1;
  geometry::NormCost cost;  // table 7
  double welfordTicks = 0;  // table 8
  double bytes = 0;         // moved where rows stay in the cache: read once, written once, gamma and beta once
};

// Lists all norms whose shapes are known (after a probe), in the order of the graph, run-time centerings included.
[[nodiscard]] std::vector<NormWork> normWork(const graph::Graph& graph, const analysis::Norms& norms);

// Marks the nodes that make up its norms, also where they are written out or have gamma and beta in nodes of their own
// behind them, and run-time centerings.
[[nodiscard]] std::vector<bool> normNodes(const graph::Graph& graph, const analysis::Norms& norms);

// Returns whether an op is a norm by its name, one that a runtime made by fusing ("SkipLayerNormalization") or our own.
[[nodiscard]] bool isNormOp(std::string_view op);

}  // namespace normlens::run
