// Claims on weights that have no mean, withdrawn: what cannot be centered blocks a norm, and the rest folds.
#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "core/graph/graph.h"

namespace normlens::analysis {

struct Claim;

// Checks weights of one model, which stay: each is read once, however many analyses use it. Reading takes the time of
// an analysis, and all of the memory: weights beyond kMostRead, the largest of the model, are held for finite until
// something reads them (to center them: fold::Blocks refuse then), or readRest() does. Thread: one at a time.
class FiniteWeights {
 public:
  static constexpr int64_t kMostRead = int64_t{16} << 20;  // bytes

  // Reads the weights that some claim would center.
  void refuseOthers(const graph::Graph& graph, std::vector<Claim>& claims);
  [[nodiscard]] bool isFinite(const graph::TensorView& weight);
  // Reads those that were held for finite; true where one is not: an analysis then finds other claims.
  [[nodiscard]] bool readRest();
  // For use after a centered weight left the range of float16: those of that type that hold numbers beyond half the
  // range are centered no longer. True where one of them was: an analysis then finds other claims.
  [[nodiscard]] bool leaveOutLarge();

 private:
  void read(const std::vector<graph::TensorView>& weights);
  using WeightBytes = std::pair<const std::byte*, int64_t>;  // where a weight begins, and its bytes
  static WeightBytes bytesOf(const graph::TensorView& weight);

  std::map<WeightBytes, bool> areFinite_;
  std::vector<graph::TensorView> unread_, halves_;
  std::set<WeightBytes> large_;  // of halves_
  int64_t bytesRead_ = 0;
};

}  // namespace normlens::analysis
