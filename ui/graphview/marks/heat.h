// The measured time of each node as heat, by the items of a hierarchy: a group has the sum of what is in it.
#pragma once

#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "core/protocol/bench_messages.h"
#include "ui/layout/hierarchy.h"

namespace normlens::graphview {

struct NodeTimes {
  std::unordered_map<int, double> ms;  // by node id; a node that is missing was not timed by itself
  double darkest = 0;                  // milliseconds of the darkest color: by itself, those of all nodes

  NodeTimes() = default;
  explicit NodeTimes(const protocol::BenchSide& side) : NodeTimes(side.node_ms) {}
  explicit NodeTimes(const std::vector<std::pair<int, double>>& times) {
    for (const auto& [node, time] : times) darkest += time, ms[node] += time;
  }
};

class Heat {
 public:
  static constexpr int kPowers = 3;  // of ten that the colors span: 0.1%, 1%, 10% and all of the time
  static constexpr int kLevels = 3 * kPowers;

  Heat() = default;
  Heat(const layout::Hierarchy& hierarchy, const NodeTimes& times) : active_(true), darkest_(times.darkest) {
    for (const auto& [node, ms] : times.ms) {
      for (int item = hierarchy.itemOfId(node); item >= 0; item = hierarchy.item(item).parent) ms_[item] += ms;
    }
  }

  [[nodiscard]] bool active() const { return active_; }
  // 0: not timed.
  [[nodiscard]] double ms(int item) const {
    const auto found = ms_.find(item);
    return found == ms_.end() ? 0 : found->second;
  }
  // From 1 to kLevels, logarithmic: one slow node does not make all others alike. 0: not timed.
  [[nodiscard]] int level(int item) const {
    const double time = ms(item);
    if (time <= 0 || darkest_ <= 0) return 0;
    const double powers = kPowers + std::log10(time / darkest_);
    return std::clamp(static_cast<int>(std::ceil(kLevels * powers / kPowers - 1e-9)), 1, kLevels);
  }

 private:
  bool active_ = false;
  double darkest_ = 0;
  std::unordered_map<int, double> ms_;
};

}  // namespace normlens::graphview
