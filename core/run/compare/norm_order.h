// Lists LayerNorms and RMSNorms of a graph alike, as a fold makes one of the other. Thread: pure function.
#pragma once

#include <string>
#include <vector>

#include "core/analysis/norms/norms.h"

namespace normlens::run {

// One of the two; not owned.
struct EitherNorm {
  const analysis::LayerNorm* layer = nullptr;
  const analysis::OtherNorm* rms = nullptr;

  [[nodiscard]] const analysis::NormParts& parts() const {
    if (layer != nullptr) return *layer;
    return *rms;
  }
  [[nodiscard]] const std::string& name() const { return layer != nullptr ? layer->name : rms->name; }
};

// Lists norms, written out or not, in execution order.
[[nodiscard]] std::vector<EitherNorm> normsInOrder(const graph::Graph& graph,
                                                   const std::vector<analysis::LayerNorm>& layerNorms,
                                                   const std::vector<analysis::OtherNorm>& others);

}  // namespace normlens::run
