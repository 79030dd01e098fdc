#include "ui/widgets/icon_button.h"

#include <QPainter>

#include "ui/theme/icons.h"
#include "ui/theme/theme.h"

namespace normlens::ui {

namespace {

constexpr int kGap = 7, kSide = 9, kHeight = 28, kArrow = 11;

QFont buttonFont() { return uiFont(13, QFont::DemiBold); }

}  // namespace

IconButton::IconButton(QString iconName, const QString& text, const QString& tip, QWidget* parent)
    : QToolButton(parent), iconName_(std::move(iconName)) {
  setText(text);
  setToolTip(tip);
  setAccessibleName(text.isEmpty() ? tip : text);
  setAttribute(Qt::WA_Hover);
  setFocusPolicy(Qt::TabFocus);
  setSizePolicy(QSizePolicy::Fixed, QSizePolicy::Fixed);
}

void IconButton::setLook(Look look) {
  look_ = look;
  updateGeometry();
}

void IconButton::setIconExtent(int pixels) {
  iconExtent_ = pixels;
  updateGeometry();
}

void IconButton::showWords(bool words) {
  words_ = words;
  updateGeometry();
  update();
}

int IconButton::extent() const { return grown(iconExtent_); }

QSize IconButton::sizeHint() const {
  const bool bare = text().isEmpty() || !words_;
  const int arrow = hasArrow() ? grown(kArrow) + kGap : 0;
  if (bare) return {extent() + 12 + arrow, grown(kHeight)};
  const int icon = iconName_.isEmpty() ? 0 : extent() + kGap;
  return {2 * kSide + icon + QFontMetrics(buttonFont()).horizontalAdvance(text()) + arrow, grown(kHeight)};
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
  const double top = (height() - extent()) / 2.0;
  if (hasArrow()) {
    const int arrow = grown(kArrow);
    paintIcon(painter, QRectF(width() - kSide - arrow, (height() - arrow) / 2.0, arrow, arrow),
              QStringLiteral("chevron_down"), ink);
  }
  if (text().isEmpty() || !words_) {
    const double left = hasArrow() ? kSide : (width() - extent()) / 2.0;
    paintIcon(painter, QRectF(left, top, extent(), extent()), iconName_, ink);
    return;
  }
  double left = kSide;
  if (!iconName_.isEmpty()) {
    paintIcon(painter, QRectF(left, top, extent(), extent()), iconName_, ink);
    left += extent() + kGap;
  }
  painter.setFont(buttonFont());
  painter.setPen(ink);
  painter.drawText(QRectF(left, 0, width() - left, height()), Qt::AlignVCenter | Qt::AlignLeft, text());
}

}  // namespace normlens::ui
