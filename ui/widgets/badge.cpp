#include "ui/widgets/badge.h"

#include <QPainter>

#include "ui/theme/icons.h"
#include "ui/theme/theme.h"

namespace normlens::ui {

namespace {

constexpr int kHeight = 22, kIcon = 14, kSide = 8, kGap = 4,
              kSlack = 2;  // kSlack: of advances that are no whole pixels

QFont badgeFont() { return uiFont(12, QFont::DemiBold); }

struct Colors {
  QColor ink, ground;
};

Colors colorsOf(Badge::Tone tone, const Theme& theme) {
  switch (tone) {
    case Badge::Tone::Good:
      return {theme.good, theme.goodBack};
    case Badge::Tone::Blocked:
      return {theme.blocked, theme.blockedBack};
    case Badge::Tone::Centering:
      return {theme.centering, theme.centeringBack};
    case Badge::Tone::Accent:
      return {theme.accentText, theme.selection};
    case Badge::Tone::Neutral:
      break;
  }
  return {theme.textSoft, theme.hover};
}

}  // namespace

Badge::Badge(QWidget* parent, Look look) : QWidget(parent), look_(look) {
  QSizePolicy policy(QSizePolicy::Maximum, QSizePolicy::Minimum);
  policy.setHeightForWidth(true);
  setSizePolicy(policy);
}

void Badge::set(Tone tone, const QString& icon, const QString& word) {
  tone_ = tone;
  icon_ = icon;
  word_ = word;
  setAccessibleName(word);
  updateGeometry();
  update();
}

QSize Badge::sizeHint() const {
  return {widthWith(QFontMetrics(badgeFont()).horizontalAdvance(word_)), grown(kHeight)};
}

QSize Badge::minimumSizeHint() const {
  int widest = 0;
  for (const QString& word : word_.split(u' '))
    widest = qMax(widest, QFontMetrics(badgeFont()).horizontalAdvance(word));
  return {widthWith(widest), grown(kHeight)};
}

int Badge::heightForWidth(int width) const {
  const QRect room(0, 0, width - widthWith(0) + kSlack, QWIDGETSIZE_MAX);
  const QFontMetrics metrics(badgeFont());
  const int high = metrics.boundingRect(room, Qt::TextWordWrap, word_).height();
  return grown(kHeight) + qMax(0, high - metrics.height());
}

int Badge::widthWith(int word) const { return 2 * kSide + (icon_.isEmpty() ? 0 : grown(kIcon) + kGap) + word; }

void Badge::paintEvent(QPaintEvent*) {
  const Colors colors = colorsOf(tone_, themeOf(this));
  QPainter painter(this);
  painter.setRenderHint(QPainter::Antialiasing);
  if (look_ == Look::Filled) {
    painter.setPen(Qt::NoPen);
    painter.setBrush(colors.ground);
    painter.drawRoundedRect(rect(), grown(kHeight) / 2.0, grown(kHeight) / 2.0);
  } else {
    painter.setPen(colors.ink);
    painter.drawRoundedRect(QRectF(rect()).adjusted(0.5, 0.5, -0.5, -0.5), 5, 5);
  }
  double left = kSide;
  if (!icon_.isEmpty()) {
    const int icon = grown(kIcon);
    paintIcon(painter, QRectF(left, (height() - icon) / 2.0, icon, icon), icon_, colors.ink);
    left += icon + kGap;
  }
  painter.setFont(badgeFont());
  painter.setPen(colors.ink);
  painter.drawText(QRectF(left, 0, width() - left - kSide + kSlack, height()),
                   Qt::AlignVCenter | Qt::AlignLeft | Qt::TextWordWrap, word_);
}

}  // namespace normlens::ui
