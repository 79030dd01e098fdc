// The colors of a box in each of its states.
#pragma once

#include <QColor>

#include "ui/layout/box_metrics.h"
#include "ui/theme/theme.h"

namespace normlens::graphview {

// amount of a, the rest of b.
[[nodiscard]] QColor mixed(const QColor& a, const QColor& b, double amount);

struct BoxState {
  bool dim = false;  // a highlight is on and this is no part of it
  bool lit = false;
  bool chosen = false;  // the norm of the highlight
  bool blocker = false;
  bool hovered = false;
  bool selected = false;
  int heat = -1;  // the level of its time, 0: not timed; -1: times are not shown
  [[nodiscard]] unsigned bits() const {
    return static_cast<unsigned>(dim) | static_cast<unsigned>(lit) << 1 | static_cast<unsigned>(chosen) << 2 |
           static_cast<unsigned>(blocker) << 3 | static_cast<unsigned>(hovered) << 4 |
           static_cast<unsigned>(selected) << 5 | static_cast<unsigned>(heat + 1) << 6;
  }
};

struct BoxStyle {
  QColor fill, border, bar, text, glow;  // bar, glow: invalid when there is none
  double borderWidth = 1;
};

// letter: of the vertex class when lit, else the op's role.
[[nodiscard]] BoxStyle boxStyle(layout::BoxKind kind, char letter, const BoxState& state, const ui::Theme& theme);

// From 0, not timed, to Heat::kLevels.
[[nodiscard]] QColor heatColor(int level, const ui::Theme& theme);

// Frames alternate with their depth, so that a group differs from the one around it.
[[nodiscard]] BoxStyle frameStyle(int depth, const BoxState& state, const ui::Theme& theme);

}  // namespace normlens::graphview
