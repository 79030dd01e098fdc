#include "ui/widgets/push_button.h"

#include <QPainter>
#include <QtMath>

#include "ui/theme/icons.h"
#include "ui/theme/theme.h"

namespace normlens::ui {

namespace {

constexpr int kIcon = 16, kGap = 7, kSide = 14, kLeastSide = 5, kHeight = 30;

QFont buttonFont() { return uiFont(13, QFont::DemiBold); }

}  // namespace

PushButton::PushButton(const QString& text, Look look, QWidget* parent) : QPushButton(text, parent), look_(look) {
  setAttribute(Qt::WA_Hover);
  setSizePolicy(look == Look::Filled ? QSizePolicy::Fixed : QSizePolicy::Preferred, QSizePolicy::Fixed);
}

void PushButton::setIconName(const QString& name) {
  iconName_ = name;
  updateGeometry();
  update();
}

QSize PushButton::sizeHint() const {
  const int icon = iconName_.isEmpty() ? 0 : grown(kIcon) + kGap;
  // Rounded up: a fraction of a pixel less, and its last letters would be "…".
  return {2 * kSide + icon + qCeil(QFontMetricsF(buttonFont()).horizontalAdvance(text())), grown(kHeight)};
}

QSize PushButton::minimumSizeHint() const { return sizeHint() - QSize(2 * (kSide - kLeastSide), 0); }

void PushButton::paintEvent(QPaintEvent*) {
  const Theme theme = themeOf(this);
  const bool filled = look_ == Look::Filled;
  QColor ground = filled ? (underMouse() ? theme.accentHover : theme.accent) : underMouse() ? theme.hover : theme.panel;
  QColor line = filled ? ground : theme.control;
  QColor ink = filled ? theme.onAccent : theme.text;
  if (isDown()) ground = filled ? theme.accentHover.darker(110) : theme.selection;
  if (!isEnabled()) {
    ink = theme.textFaint;
    line = theme.hairline;
    ground = filled ? theme.hairline : theme.panel;
  }
  if (hasFocus()) line = filled ? theme.text : theme.accent;
  QPainter painter(this);
  painter.setRenderHint(QPainter::Antialiasing);
  painter.setPen(line);
  painter.setBrush(ground);
  painter.drawRoundedRect(QRectF(rect()).adjusted(0.5, 0.5, -0.5, -0.5), 6, 6);
  const QFont font = buttonFont();
  const int icon = iconName_.isEmpty() ? 0 : grown(kIcon) + kGap;
  const QString shown = QFontMetrics(font).elidedText(text(), Qt::ElideRight, width() - 2 * kLeastSide - icon);
  double left = (width() - icon - QFontMetrics(font).horizontalAdvance(shown)) / 2.0;
  if (icon > 0)
    paintIcon(painter, QRectF(left, (height() - grown(kIcon)) / 2.0, grown(kIcon), grown(kIcon)), iconName_, ink);
  left += icon;
  painter.setFont(font);
  painter.setPen(ink);
  painter.drawText(QRectF(left, 0, width() - left, height()), Qt::AlignVCenter | Qt::AlignLeft, shown);
}

}  // namespace normlens::ui
