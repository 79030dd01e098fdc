#include "ui/widgets/plots/error_legend.h"

#include <QPainter>

#include "ui/theme/error_scale.h"

namespace normlens::ui {

namespace {

constexpr int kLeft = 56, kRight = 18, kBar = 8;

}  // namespace

ErrorLegend::ErrorLegend(QWidget* parent) : QWidget(parent) {
  setObjectName(QStringLiteral("errorLegend"));
  setSizePolicy(QSizePolicy::Preferred, QSizePolicy::Fixed);
  setAccessibleName(tr("Colour scale of the errors"));
  setToolTip(tr("The colours stand for the largest relative difference, from 1e-16 or less to 1 or more, by decades."));
}

void ErrorLegend::paintEvent(QPaintEvent*) {
  const Theme theme = themeOf(this);
  QPainter painter(this);
  const int wide = width() - kLeft - kRight, top = (height() - kBar) / 2;
  for (int x = 0; x < wide; ++x) {
    painter.fillRect(QRect(kLeft + x, top, 1, kBar), shareColor(static_cast<double>(x) / (wide - 1), theme));
  }
  painter.setFont(uiFont(11));
  painter.setPen(theme.textFaint);
  painter.drawText(QRect(0, 0, kLeft - 6, height()), Qt::AlignRight | Qt::AlignVCenter, QStringLiteral("≤ 1e-16"));
  painter.drawText(QRect(width() - kRight + 6, 0, kRight - 6, height()), Qt::AlignLeft | Qt::AlignVCenter,
                   QStringLiteral("1"));
}

}  // namespace normlens::ui
