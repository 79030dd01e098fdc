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
  [[nodiscard]] const std::string& title() const { return layer != nullptr ? layer->title : rms->name; }
};

// Pairs a norm of one model with a norm of another.
struct NormPartner {
  EitherNorm norm;
  EitherNorm other;  // neither: nothing is known to stand in its place
  [[nodiscard]] bool exists() const { return other.layer != nullptr || other.rms != nullptr; }
};

// Lists norms, written out or not, in execution order.
[[nodiscard]] std::vector<EitherNorm> normsInOrder(const graph::Graph& graph,
                                                   const std::vector<analysis::LayerNorm>& layerNorms,
                                                   const std::vector<analysis::OtherNorm>& others);

// Returns one for each norm of `a`, in execution order: the norm of the same rank where both have equally many,
// else that whose output has the same name. The norms outlive the result.
[[nodiscard]] std::vector<NormPartner> normPartners(const graph::Graph& a, const analysis::Norms& normsOfA,
                                                    const graph::Graph& b, const analysis::Norms& normsOfB);

// Names the LayerNorms of `a` that normPartners() leaves out, as they share an operator, and the RMSNorms of `b` that
// are the partner of no norm.
[[nodiscard]] std::vector<std::string> unpaired(const graph::Graph& a, const analysis::Norms& normsOfA,
                                                const graph::Graph& b, const analysis::Norms& normsOfB);

}  // namespace normlens::run
