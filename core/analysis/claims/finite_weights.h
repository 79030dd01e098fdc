// Claims on weights that have no mean, withdrawn: what cannot be centered blocks a norm, and the rest folds.
#pragma once

#include <cstddef>
#include <map>
#include <utility>
#include <vector>

#include "core/graph/graph.h"

namespace normlens::analysis {

struct Claim;

// Of one model, whose weights stay: each is read once, however many analyses ask. Thread: one at a time.
class FiniteWeights {
 public:
  // Reads the weights that some claim would center.
  void refuseOthers(const graph::Graph& graph, std::vector<Claim>& claims);
  [[nodiscard]] bool isFinite(const graph::TensorView& weight);

 private:
  void read(const std::vector<graph::TensorView>& weights);
  using Place = std::pair<const std::byte*, int64_t>;  // where a weight begins, and its bytes
  static Place placeOf(const graph::TensorView& weight);

  std::map<Place, bool> areFinite_;
};

}  // namespace normlens::analysis
