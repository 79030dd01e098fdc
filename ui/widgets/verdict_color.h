// The colour of a verdict's mark; the mark's shape says the same without it.
#pragma once

#include <QColor>

#include "ui/models/norm_model.h"
#include "ui/theme/theme.h"

namespace normlens::ui {

[[nodiscard]] inline QColor verdictColor(Verdict verdict, const Theme& theme) {
  switch (verdict) {
    case Verdict::Free:
      return theme.good;
    case Verdict::WithCentering:
      return theme.centering;
    case Verdict::Blocked:
      break;
  }
  return theme.blocked;
}

}  // namespace normlens::ui
