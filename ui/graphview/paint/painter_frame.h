// Holds what the painters need while they paint one picture.
#pragma once

#include <algorithm>
#include <cmath>

#include "ui/graphview/paint/graph_painter.h"

namespace normlens::graphview {

using layout::Box;
using layout::BoxKind;

// Below this zoom boxes are plain rectangles without text.
inline constexpr double kDetailZoom = 0.5;
// Below this zoom an op is a speck: open groups are shaded instead of what is in them.
inline constexpr double kSpeckZoom = 0.06;

struct PaintFrame {
  QPainter& painter;
  const Scene& scene;
  const Camera& camera;
  QRectF viewport;  // screen
  QRectF visible;   // world
  const ViewState& state;
  const ui::Theme& theme;
  const Lighting& lighting = state.marks->lighting;
  const MeanStates& means = state.marks->means;
  const NormVerdicts& verdicts = state.marks->verdicts;
  const PlanMarks& plan = state.marks->plan;
  bool detailed = camera.zoom >= kDetailZoom;  // text, arrows, all points of a curve

  [[nodiscard]] const Box& box(int index) const { return scene.box(index); }
  [[nodiscard]] QRectF screen(int index) const { return camera.toScreen(box(index).rect); }
  [[nodiscard]] int pixels(double atOne) const {
    return std::max(1, static_cast<int>(std::lround(atOne * camera.zoom)));
  }
  [[nodiscard]] bool stopped() const { return state.stop != nullptr && state.stop->stop_requested(); }

  [[nodiscard]] BoxState stateOf(int index) const {
    const BoxLight& light = lighting.box(index);
    BoxState s;
    s.hovered = state.hover.box == index;
    s.selected = state.selectedBox == index;
    s.lit = light.lit;
    s.dim = lighting.active() && !light.lit;
    s.chosen = light.chosen;
    s.blocker = light.blocker;
    s.heat = state.marks->heat.active() ? state.marks->heat.level(box(index).item) : -1;
    return s;
  }
  // Too small to be seen, and in a group that shows in its stead. What is lit or chosen always shows.
  [[nodiscard]] bool isSpeck(int index) const {
    if (camera.zoom >= kSpeckZoom || box(index).frame < 0) return false;
    return !lighting.box(index).lit && state.selectedBox != index;
  }
  // The first box in an open group follows it.
  [[nodiscard]] bool holdsSpecks(int frame) const {
    const auto first = static_cast<size_t>(frame) + 1;
    return first < scene.layout->boxes.size() && scene.layout->boxes[first].frame == frame &&
           scene.layout->boxes[first].kind != BoxKind::Frame;
  }
  [[nodiscard]] char letterOf(int index) const {
    if (plan.isRmsNorm(box(index).item)) return 'M';
    const BoxLight& light = lighting.box(index);
    return light.lit ? light.letter : scene.itemOf(box(index)).role;
  }
};

}  // namespace normlens::graphview
