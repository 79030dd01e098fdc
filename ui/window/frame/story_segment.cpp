#include "ui/window/frame/story_segment.h"

#include <QPainter>
#include <QStringList>

#include "ui/theme/icons.h"
#include "ui/theme/theme.h"

namespace normlens::ui {

namespace {

constexpr int kSide = 8, kIcon = 15, kIconGap = 4, kPieceGap = 4, kIconPieceGap = 14;
constexpr int kHeight = 44, kCaptionTop = 4, kCaptionHeight = 16, kPiecesTop = 21, kPiecesHeight = 19, kTick = 12;

QFont fontOf(StoryPiece::Tone tone) {
  const bool strong = tone != StoryPiece::Tone::Plain && tone != StoryPiece::Tone::Faint;
  return uiFont(13, strong ? QFont::DemiBold : QFont::Normal);
}

QColor colorOf(StoryPiece::Tone tone, const Theme& theme) {
  switch (tone) {
    case StoryPiece::Tone::Good:
    case StoryPiece::Tone::Strong:
      return theme.text;
    case StoryPiece::Tone::Blocked:
      return theme.blocked;
    case StoryPiece::Tone::Centering:
      return theme.centering;
    case StoryPiece::Tone::Faint:
      return theme.textFaint;
    case StoryPiece::Tone::Plain:
      break;
  }
  return theme.textSoft;
}

QColor iconColorOf(StoryPiece::Tone tone, const Theme& theme) {
  return tone == StoryPiece::Tone::Good ? theme.good : colorOf(tone, theme);
}

// Returns the gap between a piece and the one before it; one with an icon begins something new.
int gapBefore(const StoryPiece& piece) { return piece.icon.isEmpty() ? kPieceGap : kIconPieceGap; }

int widthOf(const StoryPiece& piece) {
  const int icon = piece.icon.isEmpty() ? 0 : grown(kIcon) + kIconGap;
  return icon + QFontMetrics(fontOf(piece.tone)).horizontalAdvance(piece.text);
}

}  // namespace

StorySegment::StorySegment(QWidget* parent) : QAbstractButton(parent) {
  setFocusPolicy(Qt::TabFocus);
  setAttribute(Qt::WA_Hover);
  setSizePolicy(QSizePolicy::Preferred, QSizePolicy::Fixed);
}

void StorySegment::setStep(const StoryStep& step) {
  step_ = step;
  setAccessibleName(QStringLiteral("%1: %2").arg(step.caption, words()));
  updateGeometry();
  update();
}

QString StorySegment::words() const {
  QStringList all;
  for (const StoryPiece& piece : step_.pieces) all << piece.text;
  return all.join(u' ');
}

void StorySegment::setLeastPieces(int pixels) { leastPieces_ = pixels; }

void StorySegment::setBrief(bool brief) {
  brief_ = brief;
  updateGeometry();
  update();
}

const QString& StorySegment::caption() const { return brief_ && !step_.brief.isEmpty() ? step_.brief : step_.caption; }

int StorySegment::captionWidth() const {
  return QFontMetrics(uiFont(11)).horizontalAdvance(caption()) + (step_.done ? grown(kTick) + 8 : 0);
}

int StorySegment::piecesWidth() const {
  int width = 0;
  for (const StoryPiece& piece : step_.pieces) width += widthOf(piece) + (width > 0 ? gapBefore(piece) : 0);
  return width;
}

QSize StorySegment::sizeHint() const { return {2 * kSide + qMax(piecesWidth(), captionWidth()) + 1, grown(kHeight)}; }

QSize StorySegment::minimumSizeHint() const {
  return {2 * kSide + qMax(qMin(piecesWidth(), grown(leastPieces_)), captionWidth()) + 1, grown(kHeight)};
}

void StorySegment::paintEvent(QPaintEvent*) {
  const Theme theme = themeOf(this);
  QPainter painter(this);
  painter.setRenderHint(QPainter::Antialiasing);
  if (underMouse() || hasFocus()) {
    painter.setPen(hasFocus() ? QPen(theme.accent) : QPen(Qt::NoPen));
    painter.setBrush(theme.hover);
    painter.drawRoundedRect(QRectF(rect()).adjusted(0.5, 1.5, -0.5, -1.5), 6, 6);
  }
  const QFont captionFont = uiFont(11);
  painter.setFont(captionFont);
  painter.setPen(theme.textSoft);
  const int captionHeight = grown(kCaptionHeight), tick = grown(kTick);
  painter.drawText(QRectF(kSide, grown(kCaptionTop), width() - kSide, captionHeight), Qt::AlignVCenter | Qt::AlignLeft,
                   caption());
  if (step_.done) {
    const double left = kSide + QFontMetrics(captionFont).horizontalAdvance(caption()) + 5;
    const double top = grown(kCaptionTop) + (captionHeight - tick) / 2.0;
    paintIcon(painter, QRectF(left, top, tick, tick), step_.early ? QStringLiteral("clock") : QStringLiteral("check"),
              step_.early ? theme.textSoft : theme.good);
  }
  int left = kSide;
  const int right = width() - kSide + 1, top = grown(kPiecesTop), high = grown(kPiecesHeight), icon = grown(kIcon);
  for (const StoryPiece& piece : step_.pieces) {
    if (left > kSide) left += gapBefore(piece);
    if (left >= right) break;
    if (!piece.icon.isEmpty()) {
      paintIcon(painter, QRectF(left, top + (high - icon) / 2.0, icon, icon), piece.icon,
                iconColorOf(piece.tone, theme));
      left += icon + kIconGap;
    }
    const QFont font = fontOf(piece.tone);
    const QString shown = QFontMetrics(font).elidedText(piece.text, Qt::ElideRight, qMax(0, right - left));
    painter.setFont(font);
    painter.setPen(colorOf(piece.tone, theme));
    painter.drawText(QRectF(left, top, right - left + 2, high), Qt::AlignVCenter | Qt::AlignLeft, shown);
    left += QFontMetrics(font).horizontalAdvance(shown);
  }
}

}  // namespace normlens::ui
