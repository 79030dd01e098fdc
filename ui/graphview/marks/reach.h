// The path through one box or edge: all that it is computed from, and all that is computed from it.
#pragma once

#include <vector>

#include "ui/graphview/scene.h"

namespace normlens::graphview {

enum class Side : uint8_t { None, Upstream, Downstream };

class Reach {
 public:
  Reach() = default;
  // Starts from every op in an item.
  static Reach ofItem(const Scene& scene, int item);
  // Starts from a value: index into document.values.
  static Reach ofValue(const Scene& scene, int value);

  [[nodiscard]] bool active() const { return !edges_.empty(); }
  [[nodiscard]] Side edge(int index) const { return active() ? edges_[static_cast<size_t>(index)] : Side::None; }

 private:
  // data: the side of each data edge.
  Reach(const Scene& scene, const std::vector<Side>& data);

  std::vector<Side> edges_;  // by edge of the layout
};

}  // namespace normlens::graphview
