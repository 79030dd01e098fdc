// The mark of a vertex class: a letter in a shape in a color, so that none of the three is needed alone.
//
// L square, S pill, R circle, Z diamond, O octagon, A (auxiliary centering) triangle, N (the chosen norm) rounded
// square.
#pragma once

#include <QChar>
#include <QRectF>
#include <QString>

class QPainter;

namespace normlens::ui {

struct Theme;

// area: about 14 x 14 px; the shape is centered in it.
void paintClassMark(QPainter& painter, const QRectF& area, QChar letter, const Theme& theme);

[[nodiscard]] QString classWord(QChar letter);     // "Linear"
[[nodiscard]] QString classMeaning(QChar letter);  // one sentence, for tooltips

}  // namespace normlens::ui
