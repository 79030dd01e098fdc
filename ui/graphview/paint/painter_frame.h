// What GraphPainter has at hand while it paints; shared by its two source files.
#pragma once

#include <cmath>

#include "ui/graphview/paint/graph_painter.h"

namespace normlens::graphview {

using layout::Box;
using layout::BoxKind;

struct GraphPainter::Frame {
  QPainter& painter;
  const Scene& scene;
  const Camera& camera;
  QRectF viewport;  // screen
  QRectF visible;   // world
  const ViewState& state;
  const ui::Theme& theme;

  [[nodiscard]] const Box& box(int index) const { return scene.layout->boxes[static_cast<size_t>(index)]; }
  [[nodiscard]] bool highlighting() const { return state.lighting != nullptr && state.lighting->active(); }
  [[nodiscard]] QRectF screen(int index) const { return camera.toScreen(box(index).rect); }
  [[nodiscard]] int pixels(double atOne) const {
    return std::max(1, static_cast<int>(std::lround(atOne * camera.zoom)));
  }

  [[nodiscard]] BoxState stateOf(int index) const {
    BoxState s;
    s.hovered = state.hover.box == index;
    s.selected = state.selectedBox == index;
    if (!highlighting()) return s;
    const BoxLight& light = state.lighting->box(index);
    s.lit = light.lit;
    s.dim = !light.lit;
    s.chosen = light.chosen;
    s.blocker = light.blocker;
    return s;
  }
  // Too small to be seen, and in a group that shows in its stead. What is lit or chosen always shows.
  [[nodiscard]] bool isSpeck(int index) const {
    if (camera.zoom >= kSpeckZoom || box(index).frame < 0) return false;
    return !(highlighting() && state.lighting->box(index).lit) && state.selectedBox != index;
  }
  // The first box in an open group follows it.
  [[nodiscard]] bool holdsSpecks(int frame) const {
    const auto first = static_cast<size_t>(frame) + 1;
    return first < scene.layout->boxes.size() && scene.layout->boxes[first].frame == frame &&
           scene.layout->boxes[first].kind != BoxKind::Frame;
  }
  [[nodiscard]] char letterOf(int index) const {
    if (highlighting() && state.lighting->box(index).lit) return state.lighting->box(index).letter;
    return scene.itemOf(box(index)).role;
  }
};

}  // namespace normlens::graphview
