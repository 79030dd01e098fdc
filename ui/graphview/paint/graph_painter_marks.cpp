// GraphPainter: what is put on the boxes: verdicts, and the reason beside a blocker.
#include <QPainter>
#include <QTextLayout>
#include <algorithm>

#include "ui/graphview/paint/painter_frame.h"
#include "ui/theme/class_mark.h"
#include "ui/theme/icons.h"
#include "ui/theme/mark_color.h"

namespace normlens::graphview {

namespace {

struct Mark {
  QString icon;
  QColor color;
};

Mark markOf(Verdict verdict, const ui::Theme& theme) {
  return {ui::verdictIcon(verdict), ui::verdictColor(verdict, theme)};
}
Mark markOf(ui::PlanState state, const ui::Theme& theme) { return {ui::planIcon(state), ui::planColor(state, theme)}; }

}  // namespace

// The ring of its verdict; in the picture 'After' the square of what the plan does.
bool GraphPainter::paintVerdict(const Frame& f, int index, const QRectF& rect) {
  const Box& box = f.box(index);
  const auto verdict = f.verdicts.ofItem.find(box.item);
  const Mark mark = f.plan.active                        ? markOf(f.plan.stateOf(box.item), f.theme)
                    : verdict != f.verdicts.ofItem.end() ? markOf(verdict->second, f.theme)
                                                         : Mark();
  if (mark.icon.isEmpty()) return false;
  const int size = f.pixels(13);
  paintMark(f, mark.icon, mark.color, {rect.right() - size - 6 * f.camera.zoom, rect.center().y() - size / 2.0}, size);
  return true;
}

void GraphPainter::paintMark(const Frame& f, const QString& icon, const QColor& color, const QPointF& corner,
                             int size) {
  if (use_ == Use::Picture) {
    ui::paintIcon(f.painter, QRectF(corner, QSizeF(size, size)), icon, color);
    return;
  }
  QPixmap& pixmap = icons_[icon + QString::number(size) + color.name()];
  if (pixmap.isNull()) {
    pixmap = QPixmap(QSize(size, size) * ratio_);
    pixmap.setDevicePixelRatio(ratio_);
    pixmap.fill(Qt::transparent);
    QPainter pen(&pixmap);
    pen.setRenderHint(QPainter::Antialiasing);
    ui::paintIcon(pen, QRectF(0, 0, size, size), icon, color);
  }
  f.painter.drawPixmap(corner, pixmap);
}

// "✓ 2  ⊘ 1": the LayerNorms in a closed group.
void GraphPainter::paintVerdictCounts(const Frame& f, int index, QPointF leftMiddle) {
  const double zoom = f.camera.zoom;
  const int pixels = f.pixels(11), size = f.pixels(12), item = f.box(index).item;
  const auto put = [&](const Mark& mark, int count) {
    if (count == 0 || mark.icon.isEmpty()) return;
    paintMark(f, mark.icon, mark.color, leftMiddle - QPointF(0, size / 2.0), size);
    const QString text = QString::number(count);
    leftMiddle.rx() += size + 3 * zoom;
    f.painter.setPen(f.theme.textSoft);
    texts_.draw(f.painter, leftMiddle, text, TextStyle::Regular, pixels);
    leftMiddle.rx() += texts_.width(text, TextStyle::Regular, pixels) + 8 * zoom;
  };
  if (const auto planned = f.plan.inGroup.find(item); planned != f.plan.inGroup.end()) {
    for (size_t state = 1; state < ui::kPlanStates; ++state)
      put(markOf(static_cast<ui::PlanState>(state), f.theme), planned->second[state]);
    return;
  }
  const VerdictCounts& counts = f.verdicts.inGroup.at(item);
  for (const Verdict verdict : {Verdict::Free, Verdict::WithCentering, Verdict::Blocked, Verdict::Unknown})
    put(markOf(verdict, f.theme), counts[static_cast<size_t>(verdict)]);
}

// "centered ✓", "+β ✓" beside the box whose weights are rewritten, where there is room.
void GraphPainter::paintPills(const Frame& f, int index, const QRectF& rect) {
  const auto found = f.plan.ofBox.find(index);
  if (found == f.plan.ofBox.end() || f.box(index).kind == BoxKind::Frame) return;
  const bool proved = f.plan.proved;
  const auto words = [proved](int count, const QString& what) {
    const QString all = count > 1 ? QStringLiteral("%1 %2").arg(count).arg(what) : what;
    return proved ? all + QStringLiteral(" ✓") : all;
  };
  QStringList lines;
  if (found->second.shifted > 0) lines << words(found->second.shifted, QStringLiteral("+β"));
  if (found->second.centered > 0)
    lines << words(found->second.centered, proved ? QStringLiteral("centered") : QStringLiteral("to center"));
  const double zoom = f.camera.zoom, height = 17 * zoom, gap = 3 * zoom, away = 9 * zoom, pad = 6 * zoom;
  const int pixels = f.pixels(10.5);
  double width = 0;
  for (const QString& line : lines) width = std::max(width, texts_.width(line, TextStyle::Regular, pixels) + 2 * pad);
  const QSizeF all(width, static_cast<double>(lines.size()) * (height + gap) - gap);
  QRectF place;
  for (const double x : {rect.right() + away, rect.left() - away - width}) {
    const QRectF wanted(QPointF(x, rect.center().y() - all.height() / 2), all);
    f.scene.boxIndex.query(f.camera.toWorld(wanted), pillHits_);
    const bool taken = std::ranges::any_of(
        pillHits_, [&](int box) { return f.box(box).kind != BoxKind::Frame && f.screen(box).intersects(wanted); });
    if (taken) continue;
    place = wanted;
    break;
  }
  for (qsizetype i = 0; i < lines.size() && !place.isNull(); ++i) {
    const QRectF pill(place.left(), place.top() + static_cast<double>(i) * (height + gap),
                      texts_.width(lines[i], TextStyle::Regular, pixels) + 2 * pad, height);
    f.painter.setPen(QPen(mixed(proved ? f.theme.good : f.theme.accentText, f.theme.panel, 0.55), 1));
    f.painter.setBrush(proved ? f.theme.goodBack : f.theme.selection);
    f.painter.drawRoundedRect(pill, 4 * zoom, 4 * zoom);
    f.painter.setPen(f.theme.text);
    texts_.draw(f.painter, {pill.left() + pad, pill.center().y()}, lines[i], TextStyle::Regular, pixels);
  }
}

// ▲ where the op runs.
void GraphPainter::paintCenterings(const Frame& f) {
  const double size = std::max(9.0, 17 * f.camera.zoom);
  for (const QPointF& world : f.plan.centerings) {
    const QPointF at = f.camera.toScreen(world);
    if (!f.viewport.adjusted(-size, -size, size, size).contains(at)) continue;
    f.painter.setPen(QPen(f.theme.classes.centering, 1.5));
    f.painter.setBrush(f.theme.panel);
    f.painter.drawEllipse(at, size * 0.72, size * 0.72);
    const double mark = size * 0.82;
    ui::paintClassMark(f.painter, QRectF(at.x() - mark / 2, at.y() - mark * 0.58, mark, mark), u'A', f.theme);
  }
}

// Returns the place, on either side of the box, where the callout hides the least.
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

// Paints why the norm is blocked, beside the op that blocks it.
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
