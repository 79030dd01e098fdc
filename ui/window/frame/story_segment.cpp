#include "ui/window/frame/story_segment.h"

#include <QPainter>
#include <QStringList>

#include "ui/theme/icons.h"
#include "ui/theme/theme.h"

namespace normlens::ui {

namespace {

constexpr int kSide = 8, kIcon = 15, kIconGap = 4, kPieceGap = 4, kIconPieceGap = 14;
constexpr int kHeight = 44, kCaptionTop = 4, kCaptionHeight = 16, kPiecesTop = 21, kPiecesHeight = 19, kTick = 12;
constexpr int kLine = 16, kLongestWord = 240, kRoomyWindow = 1280, kFewLetters = 24;

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

// A few words are not parted: "not yet", "5 with shared centering".
bool isShort(const StoryPiece& piece) { return piece.text.size() <= kFewLetters; }

int iconWidth(const StoryPiece& piece) { return piece.icon.isEmpty() ? 0 : grown(kIcon) + kIconGap; }

}  // namespace

StorySegment::StorySegment(QWidget* parent) : QAbstractButton(parent) {
  setFocusPolicy(Qt::TabFocus);
  setAttribute(Qt::WA_Hover);
  QSizePolicy policy(QSizePolicy::Preferred, QSizePolicy::Preferred);
  policy.setHeightForWidth(true);
  setSizePolicy(policy);
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

void StorySegment::setWraps(bool wraps) {
  wraps_ = wraps;
  updateGeometry();
}

void StorySegment::setShort(int times) {
  short_ = times;
  updateGeometry();
  update();
}

const QVector<StoryPiece>& StorySegment::pieces() const {
  return short_ == 0 || step_.shorter.isEmpty() ? step_.pieces : step_.shorter[qMin(short_, step_.shorter.size()) - 1];
}

void StorySegment::setBrief(bool brief) {
  brief_ = brief;
  updateGeometry();
  update();
}

const QString& StorySegment::caption() const { return brief_ && !step_.brief.isEmpty() ? step_.brief : step_.caption; }

int StorySegment::captionWidth() const {
  return QFontMetrics(uiFont(11)).horizontalAdvance(caption()) + (step_.done ? grown(kTick) + 8 : 0);
}

QVector<StorySegment::Run> StorySegment::flow(int width) const {
  QVector<Run> runs;
  int left = 0, line = 0;
  for (const StoryPiece& piece : pieces()) {
    const QFontMetrics metrics(fontOf(piece.tone));
    // A verdict stays on one line where it fits there: two that share lines read as one.
    const int whole = iconWidth(piece) + metrics.horizontalAdvance(piece.text);
    if ((isShort(piece) || !piece.icon.isEmpty()) && left > 0 && whole <= width &&
        left + gapBefore(piece) + whole > width) {
      ++line;
      left = 0;
    }
    bool first = true;
    for (const QString& word : piece.text.split(u' ', Qt::SkipEmptyParts)) {
      const int icon = first ? iconWidth(piece) : 0;
      const bool more = !first && runs.back().line == line;  // it continues the run
      const QString text = more ? runs.back().text + u' ' + word : word;
      const int from = more ? runs.back().left : left == 0 ? 0 : left + (first ? gapBefore(piece) : kPieceGap);
      if (const int end = from + icon + metrics.horizontalAdvance(text); end <= width || left == 0) {
        if (more) {
          runs.back().text = text;
        } else {
          runs.push_back({&piece, word, from + icon, line, first});
        }
        left = end;
      } else {
        runs.push_back({&piece, word, icon, ++line, first});
        left = icon + metrics.horizontalAdvance(word);
      }
      first = false;
    }
  }
  return runs;
}

int StorySegment::linesIn(int width) const {
  const QVector<Run> runs = flow(width - 2 * kSide);
  return runs.isEmpty() ? 1 : runs.back().line + 1;
}

int StorySegment::heightForWidth(int width) const {
  const int lines = linesIn(width);
  return grown(kHeight) + (lines > 1 ? (lines - 1) * grown(kLine) - grown(kPiecesHeight - kLine) - 1 : 0);
}

// One with a long and a short caption takes the least where room is short, and leaves the rest to the others.
QSize StorySegment::sizeHint() const {
  return brief_ && wraps_ && short_ == 0 && !step_.brief.isEmpty() ? minimumSizeHint() : wholeSize();
}

QSize StorySegment::wholeSize() const {
  const QVector<Run> runs = flow(QWIDGETSIZE_MAX);
  const int pieces =
      runs.isEmpty()
          ? 0
          : runs.back().left + QFontMetrics(fontOf(runs.back().piece->tone)).horizontalAdvance(runs.back().text);
  return {2 * kSide + qMax(pieces, captionWidth()) + 1, grown(kHeight)};
}

// The narrowest that has all words in two lines, or three.
QSize StorySegment::minimumSizeHint() const {
  if (!wraps_) return wholeSize();
  const int most = window()->width() < grown(kRoomyWindow) ? 3 : 2;
  int least = captionWidth() + 2 * kSide, widest = wholeSize().width();
  for (const StoryPiece& piece : pieces()) {
    for (const QString& word : isShort(piece) ? QStringList{piece.text} : piece.text.split(u' ', Qt::SkipEmptyParts)) {
      const int wide = iconWidth(piece) + QFontMetrics(fontOf(piece.tone)).horizontalAdvance(word);
      least = qMax(least, qMin(wide, grown(kLongestWord)) + 2 * kSide);
    }
  }
  least = qMin(least + 1, widest);
  while (least < widest) {
    const int middle = (least + widest) / 2;
    if (linesIn(middle) <= most) {
      widest = middle;
    } else {
      least = middle + 1;
    }
  }
  return {least, grown(kHeight)};
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
  const QVector<Run> runs = flow(width() - 2 * kSide);
  const bool several = !runs.isEmpty() && runs.back().line > 0;
  const int top = grown(kPiecesTop), high = several ? grown(kLine) : grown(kPiecesHeight), icon = grown(kIcon);
  for (const Run& run : runs) {
    const QFont font = fontOf(run.piece->tone);
    const int left = kSide + run.left, line = top + run.line * high;
    if (run.first && !run.piece->icon.isEmpty()) {
      const QRectF area(left - icon - kIconGap, line + (high - icon) / 2.0, icon, icon);
      paintIcon(painter, area, run.piece->icon, iconColorOf(run.piece->tone, theme));
    }
    painter.setFont(font);
    painter.setPen(colorOf(run.piece->tone, theme));
    const int room = width() - kSide + 1 - left;
    painter.drawText(QRectF(left, line, room + 2, high), Qt::AlignVCenter | Qt::AlignLeft,
                     QFontMetrics(font).elidedText(run.text, Qt::ElideMiddle, room));
  }
}

}  // namespace normlens::ui
