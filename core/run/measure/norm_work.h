// The arithmetic and the memory traffic of norms, from the shapes in the graph: the theory beside a measurement.
//
// Per row of d elements, counting an addition, subtraction or multiplication as one (paper 001, appendix G.1, equations
// 48 and 49):
//   LayerNorm   mean d, x - mean d, squares d, their sum d, times the inverse deviation d, gamma d, beta d      = 7 d
//   RMSNorm     squares d, their sum d, times the inverse root d, gamma d                                       = 4 d
//   centering   sum d, x - mean d                                                                               = 2 d
// gamma and beta count where the norm has them. `reductions`: passes over a row before the results can be written, two
// for LayerNorm (the mean, then the variance), one for RMSNorm and a centering. Thread: pure functions.
#pragma once

#include <string>
#include <vector>

#include "core/analysis/norms/norms.h"
#include "core/graph/graph.h"

namespace normlens::run {

enum class NormKind : uint8_t { LayerNorm, RmsNorm, Centering };
[[nodiscard]] std::string_view normKindName(NormKind kind);  // "LayerNorm", "RMSNorm", "centering"

struct NormWork {
  std::string name;
  NormKind kind = NormKind::LayerNorm;
  int64_t rows = 0, width = 0;
  int reductions = 1;
  double flops = 0;
  double bytes = 0;  // moved where rows stay in the cache: read once, written once, gamma and beta once
};

// Lists all norms whose shapes are known (after a probe), in the order of the graph, run-time centerings included.
[[nodiscard]] std::vector<NormWork> normWork(const graph::Graph& graph, const analysis::Norms& norms);

// Marks the nodes that make up its norms, also where they are written out or have gamma and beta in nodes of their own
// behind them, and run-time centerings.
[[nodiscard]] std::vector<bool> normNodes(const graph::Graph& graph, const analysis::Norms& norms);

// Returns whether an op is a norm by its name, one that a runtime made by fusing ("SkipLayerNormalization") or our own.
[[nodiscard]] bool isNormOp(std::string_view op);

}  // namespace normlens::run
