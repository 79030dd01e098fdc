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

struct Place {
  int node = -1, scope = -1;  // ids of the box in the middle: an op, or a group
  QPointF screen;             // where the middle of that box was
  double zoom = 1;
  friend bool operator==(const Place&, const Place&) = default;
};

// Returns the box nearest to a point of the screen. nullopt: nothing is shown.
[[nodiscard]] std::optional<Place> placeAt(const Scene& scene, const Camera& camera, const QPointF& screen);

class History {
 public:
  static constexpr size_t kMost = 100;

  // The place that is about to be left; what lay ahead is forgotten.
  void leave(const Place& place) {
    if (!back_.empty() && back_.back() == place) return;
    back_.push_back(place);
    if (back_.size() > kMost) back_.erase(back_.begin());
    ahead_.clear();
  }
  // `here` is kept for the way back. nullopt: there is nothing.
  std::optional<Place> back(const Place& here) { return move(back_, ahead_, here); }
  std::optional<Place> forward(const Place& here) { return move(ahead_, back_, here); }
  [[nodiscard]] bool canGoBack() const { return !back_.empty(); }
  [[nodiscard]] bool canGoForward() const { return !ahead_.empty(); }
  void clear() { back_.clear(), ahead_.clear(); }

 private:
  static std::optional<Place> move(std::vector<Place>& from, std::vector<Place>& to, const Place& here) {
    if (from.empty()) return std::nullopt;
    const Place there = from.back();
    from.pop_back();
    to.push_back(here);
    return there;
  }

  std::vector<Place> back_, ahead_;
};

}  // namespace normlens::graphview
