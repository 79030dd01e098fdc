// GraphPainter: what is put on the boxes: verdicts, and the reason beside a blocker.
#include <QPainter>
#include <QTextLayout>
#include <algorithm>

#include "ui/graphview/paint/painter_frame.h"
#include "ui/theme/icons.h"

namespace normlens::graphview {

void GraphPainter::paintVerdict(const Frame& f, int index, const QRectF& rect) {
  const Box& box = f.box(index);
  const auto found = f.verdicts.ofItem.find(box.item);
  if (box.kind == BoxKind::Slim || found == f.verdicts.ofItem.end() || found->second == Verdict::None) return;
  const int size = f.pixels(13);
  paintVerdictIcon(f, found->second, {rect.right() - size - 6 * f.camera.zoom, rect.center().y() - size / 2.0}, size);
}

void GraphPainter::paintVerdictIcon(const Frame& f, Verdict verdict, const QPointF& corner, int size) {
  const char* names[] = {"", "free", "centering", "blocked"};
  const QColor colors[] = {{}, f.theme.good, f.theme.centering, f.theme.blocked};
  const auto which = static_cast<size_t>(verdict);
  const QString name = QString::fromLatin1(names[which]);
  if (use_ == Use::Picture) {
    ui::paintIcon(f.painter, QRectF(corner, QSizeF(size, size)), name, colors[which]);
    return;
  }
  QPixmap& icon = icons_[static_cast<quint64>(which) << 32 | static_cast<quint64>(size)];
  if (icon.isNull()) {
    icon = QPixmap(QSize(size, size) * ratio_);
    icon.setDevicePixelRatio(ratio_);
    icon.fill(Qt::transparent);
    QPainter pen(&icon);
    pen.setRenderHint(QPainter::Antialiasing);
    ui::paintIcon(pen, QRectF(0, 0, size, size), name, colors[which]);
  }
  f.painter.drawPixmap(corner, icon);
}

// "✓ 2  ⊘ 1": the LayerNorms in a closed group.
void GraphPainter::paintVerdictCounts(const Frame& f, int index, QPointF leftMiddle) {
  const VerdictCounts& counts = f.verdicts.inGroup.at(f.box(index).item);
  const double zoom = f.camera.zoom;
  const int pixels = f.pixels(11), size = f.pixels(12);
  for (const Verdict verdict : {Verdict::Free, Verdict::Centering, Verdict::Blocked}) {
    const int count = counts[static_cast<size_t>(verdict)];
    if (count == 0) continue;
    paintVerdictIcon(f, verdict, leftMiddle - QPointF(0, size / 2.0), size);
    const QString text = QString::number(count);
    leftMiddle.rx() += size + 3 * zoom;
    f.painter.setPen(f.theme.textSoft);
    texts_.draw(f.painter, leftMiddle, text, TextStyle::Regular, pixels);
    leftMiddle.rx() += texts_.width(text, TextStyle::Regular, pixels) + 8 * zoom;
  }
}

// On the side, and at the height, where it hides the least.
QRectF GraphPainter::calloutPlace(const Frame& f, const QRectF& box, const QSizeF& size) {
  constexpr double kGap = 22;
  QRectF best;
  double least = 1e300;
  for (const double x : {box.right() + kGap, box.left() - kGap - size.width()}) {
    for (const double y : {box.center().y() - 20, box.bottom() - size.height() + 6}) {
      const QRectF place(QPointF(x, y), size);
      double hidden = f.viewport.contains(place) ? 0 : 4000;
      f.scene.boxIndex.query(f.camera.toWorld(place), foundBoxes_);
      for (const int index : foundBoxes_) {
        if (f.box(index).kind == BoxKind::Frame) continue;
        const QRectF common = f.screen(index).intersected(place);
        hidden += common.width() * common.height() * (f.stateOf(index).lit ? 4 : 1);
      }
      if (hidden >= least) continue;
      least = hidden;
      best = place;
    }
  }
  return best;
}

// Why the norm is blocked, beside the op that blocks it.
void GraphPainter::paintCallout(const Frame& f) {
  if (!f.detailed || f.lighting.blockerBox() < 0 || f.lighting.blockerNote().empty()) return;
  const QRectF box = f.screen(f.lighting.blockerBox());
  const QString note = QString::fromStdString(f.lighting.blockerNote());
  constexpr double kWidth = 270, kPad = 12;
  QTextLayout text(note, layout::labelFont(12, false));
  text.beginLayout();
  double height = 0;
  for (QTextLine line = text.createLine(); line.isValid(); line = text.createLine()) {
    line.setLineWidth(kWidth - 2 * kPad - 20);
    line.setPosition({0, height});
    height += line.height() + 1;
  }
  text.endLayout();
  const QString title = QStringLiteral("The blocker");
  const QRectF card = calloutPlace(f, box, {kWidth, height + 36});
  const bool right = card.left() > box.right();
  f.painter.setPen(QPen(f.theme.opaqueLine, 1.5));
  f.painter.drawLine(QPointF(right ? box.right() + 4 : box.left() - 4, box.center().y()),
                     QPointF(right ? card.left() : card.right(), box.center().y()));
  f.painter.setPen(QPen(mixed(f.theme.opaqueLine, f.theme.panel, 0.5), 1));
  f.painter.setBrush(f.theme.blockedBack);
  f.painter.drawRoundedRect(card, 6, 6);
  ui::paintIcon(f.painter, QRectF(card.left() + kPad, card.top() + 10, 15, 15), QStringLiteral("blocked"),
                f.theme.blocked);
  f.painter.setPen(f.theme.text);
  texts_.draw(f.painter, {card.left() + kPad + 22, card.top() + 17.68}, title, TextStyle::Bold, 12);
  text.draw(&f.painter, {card.left() + kPad + 22, card.top() + 28});
}

}  // namespace normlens::graphview
