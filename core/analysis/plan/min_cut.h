// Minimum s-t cut with integer capacities; Boost's Boykov-Kolmogorov maximum flow underneath.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace normlens::analysis {

class FlowNetwork {
 public:
  // Larger than any sum of finite capacities used here.
  static constexpr int64_t kUncuttable = int64_t{1} << 56;

  explicit FlowNetwork(int nodes) : nodes_(nodes) {}
  // Its index among the edges.
  size_t connect(int from, int to, int64_t capacity) {
    edges_.push_back({static_cast<uint32_t>(from), static_cast<uint32_t>(to), capacity});
    return edges_.size() - 1;
  }

  struct Cut {
    int64_t flow = 0;              // = capacity of the cut: the proof that it is minimal
    std::vector<bool> onSinkSide;  // the least sink side: on a tie a node stays with the source
    std::vector<int64_t> flows;    // of each edge
  };
  [[nodiscard]] Cut solve(int source, int sink) const;

 private:
  struct Edge {
    uint32_t from, to;
    int64_t capacity;
  };
  int nodes_;
  std::vector<Edge> edges_;
};

}  // namespace normlens::analysis
