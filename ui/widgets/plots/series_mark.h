// The marks and colors that distinguish the floating types of a comparison, in charts and beside their names: by shape
// as well as by color.
#pragma once

#include <QColor>
#include <QPainter>

#include "ui/theme/theme.h"

namespace normlens::ui {

[[nodiscard]] QColor seriesColor(int series, const Theme& theme);
void paintSeriesMark(QPainter& painter, const QPointF& at, int series, const Theme& theme);

}  // namespace normlens::ui
