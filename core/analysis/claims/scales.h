// Constant per-channel scales that a linear in front of them can take in (LayerScale, an affine): docs/method.md 3.4.
//
//   y = gamma * P(x W + z V + b)   P: permutations, copies and views, of the addends too; W, V, b read by nothing else;
//                                  gamma constant, of channels or of heads that the channels are viewed as
// and a BatchNorm in eval mode, gamma * (P(x W + b) - mean) / sqrt(variance + eps) + beta. A pass of its own before the
// analysis: its graph has each such node as Identity(data, ...), with the same ids; a BatchNorm whose shift finds no
// bias to go into stays, with the attribute `shift_operand`.
#pragma once

#include <optional>
#include <vector>

#include "core/fold/plan.h"
#include "core/graph/graph.h"

namespace normlens::analysis {

struct AbsorbedScales {
  const graph::Graph* original = nullptr;  // as given; outlives this
  std::optional<graph::Graph> changed;     // where there is anything to absorb
  std::vector<fold::AbsorbScale> edits;    // a plan takes those whose weight it centers

  [[nodiscard]] const graph::Graph& graph() const { return changed ? *changed : *original; }
};
[[nodiscard]] AbsorbedScales absorbScales(const graph::Graph& graph);
AbsorbedScales absorbScales(graph::Graph&& graph) = delete;

}  // namespace normlens::analysis
