// The colors of the two marks of a norm: the ring, what can be done, and the square, what the plan does. Their shapes
// mean the same without them.
#pragma once

#include <QColor>

#include "ui/models/norm_model.h"
#include "ui/session/words/plan_mark.h"
#include "ui/theme/theme.h"

namespace normlens::ui {

[[nodiscard]] inline QColor verdictColor(Verdict verdict, const Theme& theme) {
  switch (verdict) {
    case Verdict::Free:
      return theme.good;
    case Verdict::WithCentering:
      return theme.centering;
    case Verdict::Blocked:
      return theme.blocked;
    case Verdict::Unknown:
      break;
  }
  return theme.textSoft;
}

[[nodiscard]] inline QColor planColor(PlanState state, const Theme& theme) {
  switch (state) {
    case PlanState::Planned:
    case PlanState::PlannedCentered:
      return theme.accentText;
    case PlanState::Folded:
      return theme.good;
    case PlanState::FoldedCentered:
      return theme.centering;
    case PlanState::OtherOutputs:
    case PlanState::WouldFall:
      return theme.blocked;
    case PlanState::Unknown:
    case PlanState::Kept:
      break;
  }
  return theme.textFaint;
}

}  // namespace normlens::ui
