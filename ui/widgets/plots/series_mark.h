// The marks and colours that tell the floating types of a comparison apart, in charts and beside their names: by shape
// as well as by colour.
#pragma once

#include <QColor>
#include <QPainter>

#include "ui/theme/theme.h"

namespace normlens::ui {

[[nodiscard]] QColor seriesColor(int series, const Theme& theme);
void paintSeriesMark(QPainter& painter, const QPointF& at, int series, const Theme& theme);

}  // namespace normlens::ui
