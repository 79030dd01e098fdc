// Records the places that the user has visited in a graph, for back and forward.
//
// A place is identified by the box in the middle, not by coordinates: those change with every layout.
#pragma once

#include <QPointF>
#include <cstddef>
#include <optional>
#include <vector>

#include "ui/graphview/camera.h"
#include "ui/graphview/scene.h"

namespace normlens::graphview {

struct ViewAnchor {
  int node = -1, scope = -1;  // ids of the box in the middle: an op, or a group
  QPointF screen;             // where the middle of that box was
  double zoom = 1;
  friend bool operator==(const ViewAnchor&, const ViewAnchor&) = default;
};

// Returns the box nearest to a point of the screen. nullopt: nothing is shown.
[[nodiscard]] std::optional<ViewAnchor> viewAnchorAt(const Scene& scene, const Camera& camera, const QPointF& screen);

class History {
 public:
  static constexpr size_t kMost = 100;

  // Records the anchor of a view that is about to be left; what lay ahead is forgotten.
  void leave(const ViewAnchor& anchor) {
    if (!back_.empty() && back_.back() == anchor) return;
    back_.push_back(anchor);
    if (back_.size() > kMost) back_.erase(back_.begin());
    ahead_.clear();
  }
  // `here` is kept for the way back. nullopt: there is nothing.
  std::optional<ViewAnchor> back(const ViewAnchor& here) { return move(back_, ahead_, here); }
  std::optional<ViewAnchor> forward(const ViewAnchor& here) { return move(ahead_, back_, here); }
  [[nodiscard]] bool canGoBack() const { return !back_.empty(); }
  [[nodiscard]] bool canGoForward() const { return !ahead_.empty(); }
  void clear() { back_.clear(), ahead_.clear(); }

 private:
  static std::optional<ViewAnchor> move(std::vector<ViewAnchor>& from, std::vector<ViewAnchor>& to,
                                        const ViewAnchor& here) {
    if (from.empty()) return std::nullopt;
    const ViewAnchor there = from.back();
    from.pop_back();
    to.push_back(here);
    return there;
  }

  std::vector<ViewAnchor> back_, ahead_;
};

}  // namespace normlens::graphview
