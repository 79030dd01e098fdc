#include "ui/graphview/overlays/blocker_chip.h"

#include <QPainter>
#include <QPainterPath>
#include <algorithm>

#include "ui/theme/class_mark.h"
#include "ui/theme/theme.h"

namespace normlens::graphview {
namespace {

constexpr int kHeight = 32, kEdge = 10, kPad = 14, kArrow = 22, kMark = 21, kGap = 8;

QFont nameFont() { return ui::uiFont(12, QFont::DemiBold); }
QFont wordsFont() { return ui::uiFont(12); }

void paintArrow(QPainter& painter, const QPointF& middle, Beyond beyond, const QColor& color) {
  const double turn = beyond == Beyond::Right ? 90 : beyond == Beyond::Bottom ? 180 : beyond == Beyond::Left ? 270 : 0;
  painter.save();
  painter.translate(middle);
  painter.rotate(turn);
  painter.setPen(QPen(color, 2, Qt::SolidLine, Qt::RoundCap, Qt::RoundJoin));
  painter.setBrush(color);
  painter.drawLine(QPointF(0, 7), QPointF(0, -3));
  QPainterPath head(QPointF(0, -8));
  head.lineTo(4.5, -1.5);
  head.lineTo(-4.5, -1.5);
  head.closeSubpath();
  painter.fillPath(head, color);
  painter.restore();
}

}  // namespace

Beyond beyondEdge(const QRectF& box, const QRectF& visible, bool runsDown) {
  const QRectF common = box.intersected(visible);
  const double half = 0.5 * box.width() * box.height();
  if (visible.contains(box.center()) || common.width() * common.height() >= half) return Beyond::Nothing;
  const QPointF at = box.center();
  const Beyond vertical = at.y() < visible.top()      ? Beyond::Top
                          : at.y() > visible.bottom() ? Beyond::Bottom
                                                      : Beyond::Nothing;
  const Beyond horizontal = at.x() < visible.left()    ? Beyond::Left
                            : at.x() > visible.right() ? Beyond::Right
                                                       : Beyond::Nothing;
  const Beyond first = runsDown ? vertical : horizontal, second = runsDown ? horizontal : vertical;
  return first != Beyond::Nothing ? first : second;
}

int blocksBetween(const layout::Hierarchy& hierarchy, int from, int to) {
  if (from < 0 || to < 0) return 0;
  int group = from, child = from;
  while (group >= 0 && !hierarchy.contains(group, to)) {
    child = group;
    group = hierarchy.item(group).parent;
  }
  int other = to;
  while (group >= 0 && other != group && hierarchy.item(other).parent != group) other = hierarchy.item(other).parent;
  if (group < 0 || other == group || child == group) return 0;
  const auto isBlock = [&](int item) {
    return hierarchy.item(item).kind == layout::ItemKind::Group && !hierarchy.item(item).slim;
  };
  if (!isBlock(child) || !isBlock(other)) return 0;
  const auto& all = hierarchy.item(group).children;
  auto begin = std::ranges::find(all, child), end = std::ranges::find(all, other);
  if (end < begin) std::swap(begin, end);
  return static_cast<int>(std::count_if(begin, end, isBlock));
}

BlockerChip::BlockerChip(QWidget* canvas) : QAbstractButton(canvas) {
  setObjectName(QStringLiteral("blockerChip"));
  setCursor(Qt::PointingHandCursor);
  setFocusPolicy(Qt::TabFocus);
  setAttribute(Qt::WA_Hover);
  hide();
}

void BlockerChip::clear() {
  box_ = {};
  beyond_ = Beyond::Nothing;
  hide();
}

void BlockerChip::setScene(const Scene& scene, const Lighting& lighting) {
  clear();
  const int box = lighting.blockerBox(), chosen = lighting.chosenBox();
  if (box < 0 || scene.empty()) return;
  runsDown_ = scene.runsDown();
  box_ = scene.box(box).rect;
  blocks_ = chosen < 0 ? 0 : blocksBetween(*scene.hierarchy, scene.box(chosen).item, scene.box(box).item);
  name_ = QString::fromStdString(scene.hierarchy->path(scene.box(box).item));
}

void BlockerChip::setVisibleArea(double zoom, const QRectF& world, const QRect& keepOff) {
  const Beyond beyond = box_.isEmpty() ? Beyond::Nothing : beyondEdge(box_, world, runsDown_);
  if (beyond != beyond_) {
    beyond_ = beyond;
    describe();
    resize(sizeHint());
    update();
  }
  if (beyond_ != Beyond::Nothing) move(place(zoom, world, keepOff));
  setVisible(beyond_ != Beyond::Nothing);
}

// Returns a place beside the blocker's along the edge, as far as the canvas and what lies in its corner let it.
QPoint BlockerChip::place(double zoom, const QRectF& world, const QRect& keepOff) const {
  const QPointF at = (box_.center() - world.topLeft()) * zoom;
  const int widest = parentWidget()->width() - width() - kEdge, lowest = parentWidget()->height() - height() - kEdge;
  QPoint corner(std::clamp(static_cast<int>(at.x()) - width() / 2, kEdge, std::max(kEdge, widest)),
                std::clamp(static_cast<int>(at.y()) - height() / 2, kEdge, std::max(kEdge, lowest)));
  if (beyond_ == Beyond::Top) corner.setY(kEdge);
  if (beyond_ == Beyond::Bottom) corner.setY(lowest);
  if (beyond_ == Beyond::Left) corner.setX(kEdge);
  if (beyond_ == Beyond::Right) corner.setX(widest);
  if (!QRect(corner, size()).intersects(keepOff)) return corner;
  const int beside = keepOff.left() - kGap - width(), above = keepOff.top() - kGap - height();
  const bool fits = beyond_ == Beyond::Bottom && beside >= kEdge;
  return fits ? QPoint(beside, corner.y()) : QPoint(corner.x(), std::max(kEdge, above));
}

QString chipWords(const QString& distance, const QString& reason, const QFontMetrics& metrics, int room) {
  const QString all = reason.isEmpty() ? distance : QStringLiteral("%1 · %2").arg(distance, reason);
  if (metrics.horizontalAdvance(all) <= room) return all;
  // Fewer letters of a reason than these mean nothing to a reader.
  const QString few = QStringLiteral("%1 · %2…").arg(distance, reason.left(4));
  if (!reason.isEmpty() && metrics.horizontalAdvance(few) <= room) return metrics.elidedText(all, Qt::ElideRight, room);
  return metrics.horizontalAdvance(distance) <= room ? distance : QString();
}

QString BlockerChip::distance() const {
  const QString blocks = blocks_ == 1 ? tr("1 block") : tr("%1 blocks").arg(blocks_);
  switch (beyond_) {
    case Beyond::Top:
      return blocks_ > 0 ? tr("%1 up").arg(blocks) : tr("above");
    case Beyond::Bottom:
      return blocks_ > 0 ? tr("%1 down").arg(blocks) : tr("below");
    case Beyond::Left:
      return blocks_ > 0 ? tr("%1 to the left").arg(blocks) : tr("to the left");
    case Beyond::Right:
      return blocks_ > 0 ? tr("%1 to the right").arg(blocks) : tr("to the right");
    case Beyond::Nothing:
      break;
  }
  return {};
}

void BlockerChip::describe() {
  const QString away = chipWords(distance(), reason_, QFontMetrics(wordsFont()), QWIDGETSIZE_MAX);
  setText(away);
  setAccessibleName(tr("Blocker: %1, %2").arg(name_, away));
  setToolTip(tr("Blocker: %1, %2\nClick or press G to go there.").arg(name_, away));
}

QSize BlockerChip::sizeHint() const {
  const int title = QFontMetrics(nameFont()).horizontalAdvance(tr("Blocker: %1").arg(name_));
  const int words = QFontMetrics(wordsFont()).horizontalAdvance(text());
  const int wanted = kPad + kArrow + kMark + title + kGap + words + kPad;
  return {std::min(wanted, std::max(120, parentWidget()->width() - 2 * kEdge)), kHeight};
}

void BlockerChip::paintEvent(QPaintEvent*) {
  const ui::Theme theme = ui::themeOf(this);
  QPainter painter(this);
  painter.setRenderHint(QPainter::Antialiasing);
  painter.setPen(QPen(hasFocus() ? theme.accent : theme.opaqueLine, underMouse() || hasFocus() ? 2 : 1.5));
  painter.setBrush(theme.blockedBack);
  const QRectF pill = QRectF(rect()).adjusted(1, 1, -1, -1);
  painter.drawRoundedRect(pill, pill.height() / 2, pill.height() / 2);
  paintArrow(painter, {kPad + 7.0, height() / 2.0}, beyond_, theme.blocked);
  ui::paintClassMark(painter, QRectF(kPad + kArrow, (height() - 14) / 2.0, 14, 14), u'O', theme);
  double left = kPad + kArrow + kMark;
  const double right = width() - kPad;
  const auto room = [&] { return static_cast<int>(std::max(0.0, right - left)) + 1; };
  const auto draw = [&](const QFont& font, const QColor& color, const QString& words) {
    painter.setFont(font);
    painter.setPen(color);
    painter.drawText(QRectF(left, 0, right - left + 2, height()), Qt::AlignVCenter | Qt::AlignLeft, words);
    left += QFontMetrics(font).horizontalAdvance(words) + kGap;
  };
  draw(nameFont(), theme.text,
       QFontMetrics(nameFont()).elidedText(tr("Blocker: %1").arg(name_), Qt::ElideMiddle, room()));
  draw(wordsFont(), theme.textSoft, chipWords(distance(), reason_, QFontMetrics(wordsFont()), room()));
}

}  // namespace normlens::graphview
