// The colors of the two marks of a norm: the ring, what can be done, and the square, what the plan does. Their shapes
// mean the same without them.
#pragma once

#include <QColor>
#include <array>

#include "ui/theme/theme.h"
#include "ui/words/plan_mark.h"

namespace normlens::ui {

[[nodiscard]] inline QColor verdictColor(Verdict verdict, const Theme& theme) {
  constexpr QColor Theme::*kColors[] = {&Theme::good, &Theme::centering, &Theme::blocked, &Theme::textSoft};
  return theme.*kColors[static_cast<size_t>(verdict)];
}

[[nodiscard]] inline QColor planColor(PlanState state, const Theme& theme) {
  constexpr std::array<QColor Theme::*, kPlanStates> kColors = {
      &Theme::textFaint, &Theme::accentText, &Theme::accentText, &Theme::good,   &Theme::centering,
      &Theme::textFaint, &Theme::blocked,    &Theme::accentText, &Theme::blocked};
  return theme.*kColors[static_cast<size_t>(state)];
}

}  // namespace normlens::ui
