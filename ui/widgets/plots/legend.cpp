#include "ui/widgets/plots/legend.h"

#include <QGridLayout>
#include <QPainter>

#include "ui/theme/class_mark.h"
#include "ui/theme/theme.h"
#include "ui/widgets/frames.h"
#include "ui/widgets/lesson_link.h"

namespace normlens::ui {

LegendEntry::LegendEntry(QChar letter, QWidget* parent) : QWidget(parent), letter_(letter) {
  explain(this, classMeaning(letter), letter == u'A' ? "auxiliary" : "zero_mean_graph");
  setAccessibleName(QStringLiteral("%1: %2").arg(letter).arg(classWord(letter)));
  setAccessibleDescription(classMeaning(letter));
}

QSize LegendEntry::sizeHint() const {
  return {26 + QFontMetrics(uiFont(12)).horizontalAdvance(classWord(letter_)), grown(24)};
}

void LegendEntry::paintEvent(QPaintEvent*) {
  const Theme theme = themeOf(this);
  QPainter painter(this);
  paintClassMark(painter, QRectF(2, (height() - 15) / 2.0, 15, 15), letter_, theme);
  painter.setFont(uiFont(12));
  painter.setPen(theme.text);
  painter.drawText(QRect(26, 0, width() - 26, height()), Qt::AlignVCenter | Qt::AlignLeft, classWord(letter_));
}

Legend::Legend(QWidget* parent) : QWidget(parent) {
  auto* grid = new QGridLayout(this);
  grid->setContentsMargins(12, 8, 12, 8);
  grid->setHorizontalSpacing(8);
  grid->setVerticalSpacing(0);
  grid->addWidget(makeLabel(tr("Legend"), "section", this), 0, 0, 1, 2);
  const QString column[] = {QStringLiteral("LSRZ"), QStringLiteral("OANM")};
  for (int c = 0; c < 2; ++c) {
    for (int r = 0; r < column[c].size(); ++r) grid->addWidget(new LegendEntry(column[c][r], this), r + 1, c);
    grid->setColumnStretch(c, 1);
  }
}

}  // namespace normlens::ui
