#include "ui/widgets/icon_button.h"

#include <QPainter>

#include "ui/theme/icons.h"
#include "ui/theme/theme.h"

namespace normlens::ui {

namespace {

constexpr int kGap = 7, kSide = 9, kHeight = 28, kArrow = 11;

QFont buttonFont() { return uiFont(13, QFont::DemiBold); }

}  // namespace

IconButton::IconButton(const QString& iconName, const QString& text, const QString& tip, QWidget* parent)
    : QToolButton(parent), iconName_(iconName) {
  setText(text);
  setToolTip(tip);
  setAccessibleName(text.isEmpty() ? tip : text);
  setAttribute(Qt::WA_Hover);
  setFocusPolicy(Qt::TabFocus);
  setSizePolicy(QSizePolicy::Fixed, QSizePolicy::Fixed);
}

void IconButton::setIconName(const QString& name) {
  iconName_ = name;
  update();
}

void IconButton::setLook(Look look) {
  look_ = look;
  updateGeometry();
}

void IconButton::setIconExtent(int pixels) {
  iconExtent_ = pixels;
  updateGeometry();
}

QSize IconButton::sizeHint() const {
  if (text().isEmpty()) return {iconExtent_ + 12, kHeight};
  const int icon = iconName_.isEmpty() ? 0 : iconExtent_ + kGap;
  const int arrow = hasArrow() ? kArrow + kGap : 0;
  return {2 * kSide + icon + QFontMetrics(buttonFont()).horizontalAdvance(text()) + arrow, kHeight};
}

void IconButton::paintEvent(QPaintEvent*) {
  const Theme theme = themeOf(this);
  const QColor disabled = theme.dark ? QColor(0x5F6874) : QColor(0x9AA2AD);
  const QColor ink = isEnabled() ? theme.text : disabled;
  QPainter painter(this);
  painter.setRenderHint(QPainter::Antialiasing);
  const bool outlined = look_ == Look::Outlined;
  const bool lit = isEnabled() && (underMouse() || isDown() || isChecked());
  QPen line(Qt::NoPen);
  if (outlined) line = QPen(theme.control);
  if (hasFocus()) line = QPen(theme.accent);
  painter.setPen(line);
  painter.setBrush(isDown() || isChecked() ? theme.selection
                   : lit                   ? theme.hover
                   : outlined              ? theme.panel
                                           : QColor(Qt::transparent));
  painter.drawRoundedRect(QRectF(rect()).adjusted(0.5, 0.5, -0.5, -0.5), 6, 6);
  const double top = (height() - iconExtent_) / 2.0;
  if (text().isEmpty()) {
    paintIcon(painter, QRectF((width() - iconExtent_) / 2.0, top, iconExtent_, iconExtent_), iconName_, ink);
    return;
  }
  double left = kSide;
  if (!iconName_.isEmpty()) {
    paintIcon(painter, QRectF(left, top, iconExtent_, iconExtent_), iconName_, ink);
    left += iconExtent_ + kGap;
  }
  painter.setFont(buttonFont());
  painter.setPen(ink);
  painter.drawText(QRectF(left, 0, width() - left, height()), Qt::AlignVCenter | Qt::AlignLeft, text());
  if (!hasArrow()) return;
  paintIcon(painter, QRectF(width() - kSide - kArrow, (height() - kArrow) / 2.0, kArrow, kArrow),
            QStringLiteral("chevron_down"), ink);
}

}  // namespace normlens::ui
