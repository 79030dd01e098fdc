#include "ui/graphview/paint/graph_painter.h"

#include <QPainter>
#include <QPainterPath>
#include <algorithm>
#include <cmath>

#include "ui/graphview/paint/painter_frame.h"
#include "ui/theme/class_mark.h"
#include "ui/words/format.h"

namespace normlens::graphview {

QString valueText(const protocol::GraphValue& value) {
  QString text;
  if (value.has_shape && value.shape.empty()) text = QStringLiteral("scalar");
  for (size_t i = 0; value.has_shape && i < value.shape.size(); ++i) {
    if (i > 0) text += u'×';
    text += value.shape[i] < 0 ? QStringLiteral("?") : QString::number(value.shape[i]);
  }
  if (!text.isEmpty() && !value.dtype.empty()) text += QLatin1Char(' ');
  return text + QString::fromStdString(value.dtype);
}

void GraphPainter::clearCaches() {
  sprites_.clear();
  texts_.clear();
  icons_.clear();
}

void GraphPainter::paint(QPainter& painter, const Scene& scene, const Camera& camera, const QSizeF& viewport,
                         const ViewState& state, const ui::Theme& theme) {
  const QRectF area(QPointF(0, 0), viewport);
  painter.fillRect(area, theme.canvas);
  if (scene.empty()) return;
  if (const double ratio = painter.device()->devicePixelRatioF(); ratio != ratio_) {
    clearCaches();
    ratio_ = ratio;
  }
  painter.setRenderHint(QPainter::Antialiasing);
  const Frame f{painter, scene, camera, area, camera.toWorld(area.adjusted(-30, -12, 12, 12)), state, theme};
  scene.boxIndex.query(f.visible, foundBoxes_);
  for (const int index : foundBoxes_) {
    if (f.box(index).kind == BoxKind::Frame) paintFrame(f, index);
  }
  edges_.paint(f);
  for (const int index : foundBoxes_) {
    if (f.stopped()) return;
    if (f.box(index).kind == BoxKind::Frame || f.isSpeck(index)) continue;
    if (f.detailed) {
      paintBox(f, index);
    } else {
      paintRough(f, index);
    }
  }
  if (f.plan.active) paintCenterings(f);
  if (f.detailed) {
    edges_.paintLabels(f, texts_);
  } else {
    paintOverviewTitles(f, foundBoxes_);
  }
  paintCallout(f);
}

void GraphPainter::paintFrame(const Frame& f, int index) {
  const BoxStyle style = frameStyle(f.scene.depthOf(index), f.stateOf(index), f.theme);
  const QRectF rect = f.screen(index);
  // Only the part in sight: a huge rounded rectangle costs as much as its whole outline.
  const QRectF part = rect.intersected(f.viewport.adjusted(-40, -40, 40, 40));
  if (f.camera.zoom < kSpeckZoom) {
    f.painter.fillRect(part, style.border);
    f.painter.fillRect(part.adjusted(1, 1, -1, -1),
                       f.holdsSpecks(index) ? mixed(style.border, style.fill, 0.3) : style.fill);
    return;
  }
  BoxSprites::paint(f.painter, part, std::max(f.camera.zoom, 0.35), BoxKind::Frame, style);
  if (!f.detailed) return;
  const Box& box = f.box(index);
  const int pixels = f.pixels(12);
  const double zoom = f.camera.zoom;
  const QString& title = f.scene.titles[static_cast<size_t>(index)];
  const double titleWidth = texts_.width(title, TextStyle::Bold, pixels);
  const double gap = 7 * zoom;
  const double x = rect.left() + (box.titleX + 25) * zoom;
  const double y = rect.top() + 14 * zoom;
  f.painter.setPen(f.theme.textSoft);
  texts_.draw(f.painter, {x, y}, title, TextStyle::Bold, pixels);
  if (!box.titleShort) {
    f.painter.setPen(f.theme.textFaint);
    texts_.draw(f.painter, {x + titleWidth + gap, y}, layout::shortType(f.scene.itemOf(box)), TextStyle::Regular,
                pixels);
  }
  paintBadge(f, index, false);
}

void GraphPainter::paintBox(const Frame& f, int index) {
  const Box& box = f.box(index);
  const QRectF rect = f.screen(index);
  const BoxState state = f.stateOf(index);
  if (f.scene.itemOf(box).repeats > 1) paintStack(f, index, rect, state);
  if (use_ == Use::Screen) {
    sprites_.draw(f.painter, rect, f.camera.zoom, box.kind, f.letterOf(index), state, f.theme);
  } else {
    BoxSprites::paint(f.painter, rect, f.camera.zoom, box.kind, boxStyle(box.kind, f.letterOf(index), state, f.theme));
  }
  if (f.plan.active) paintPills(f, index, rect);
  switch (box.kind) {
    case BoxKind::Card:
      paintCardText(f, index, rect, state);
      break;
    case BoxKind::Sum:
      if (state.lit) {
        const double size = 14 * f.camera.zoom;
        const double away = 14 * f.camera.zoom;  // Keeps clear of the stream.
        const QPointF c = f.scene.runsDown() ? QPointF(rect.left() - away, rect.center().y())
                                             : QPointF(rect.center().x(), rect.top() - away * 0.8);
        ui::paintClassMark(f.painter, QRectF(c.x() - size / 2, c.y() - size / 2, size, size),
                           QLatin1Char(f.letterOf(index)), f.theme);
      }
      break;
    default:
      paintLabel(f, index, rect, state);
      break;
  }
}

void GraphPainter::paintLabel(const Frame& f, int index, const QRectF& rect, const BoxState& state) {
  const double zoom = f.camera.zoom;
  const int pixels = f.pixels(12);
  const QString& title = f.scene.titles[static_cast<size_t>(index)];
  const TextStyle style = state.lit ? TextStyle::Bold : TextStyle::Regular;
  const double room = rect.width() - 2 * (layout::kBadgeRoom - 3) * zoom;
  const double width = std::min(texts_.width(title, style, pixels), room);
  const BoxStyle colors = boxStyle(f.box(index).kind, f.letterOf(index), state, f.theme);
  f.painter.setPen(colors.text);
  const QPointF place(rect.center().x() - width / 2 + (colors.bar.isValid() ? 1.5 * zoom : 0), rect.center().y());
  texts_.draw(f.painter, place, title, style, pixels, room);
  if (state.lit || f.letterOf(index) == 'M' || f.state.marks->letters) {
    const double size = 13 * zoom;
    const QRectF mark(rect.left() + 7 * zoom, rect.center().y() - size / 2, size, size);
    ui::paintClassMark(f.painter, mark, QLatin1Char(f.letterOf(index)), f.theme);
  }
  // A small closed group has room for one of the two: its norm's mark, or under the pointer what opens it.
  const bool opens = f.box(index).kind == BoxKind::Slim && state.hovered;
  const bool marked = !state.dim && !opens && paintVerdict(f, index, rect);
  if (f.box(index).kind == BoxKind::Slim && !marked && (zoom >= 0.8 || opens)) paintBadge(f, index, true);
}

void GraphPainter::paintCardText(const Frame& f, int index, const QRectF& rect, const BoxState& state) {
  const double zoom = f.camera.zoom;
  const layout::Item& item = f.scene.itemOf(f.box(index));
  const int titlePixels = f.pixels(13), typePixels = f.pixels(12), smallPixels = f.pixels(11);
  const double x = rect.left() + 14 * zoom, room = rect.width() - 50 * zoom;
  const double first = rect.top() + 15.5 * zoom, second = rect.top() + 31 * zoom;
  const QString& title = f.scene.titles[static_cast<size_t>(index)];
  const double titleWidth = std::min(texts_.width(title, TextStyle::Bold, titlePixels), room);
  const QColor soft = state.dim ? boxStyle(BoxKind::Card, 'O', state, f.theme).text : f.theme.textSoft;
  f.painter.setPen(state.dim ? soft : f.theme.text);
  texts_.draw(f.painter, {x, first}, title, TextStyle::Bold, titlePixels, room);
  const double left = room - titleWidth - 8 * zoom;
  f.painter.setPen(soft);
  if (left > 20 * zoom) {
    texts_.draw(f.painter, {x + titleWidth + 8 * zoom, first}, layout::shortType(item), TextStyle::Regular, typePixels,
                left);
  }
  if (state.lit) {
    paintChips(f, f.lighting.box(index), {x, second}, x + room);
  } else {
    const bool timed = state.heat > 0;
    f.painter.setPen(state.dim ? soft : timed ? f.theme.text : f.theme.textFaint);
    QString summary =
        timed ? ui::formatMilliseconds(f.state.marks->heat.ms(f.box(index).item)) : layout::opSummary(item);
    const bool judged = !state.dim && f.verdicts.inGroup.contains(f.box(index).item);
    if (!judged && !timed && item.layerNorms > 0) summary += QStringLiteral(" · ") + layout::normSummary(item);
    texts_.draw(f.painter, {x, second}, summary, TextStyle::Regular, smallPixels, room);
    const double after = x + texts_.width(summary, TextStyle::Regular, smallPixels) + 9 * zoom;
    if (judged) paintVerdictCounts(f, index, {after, second});
  }
  paintBadge(f, index, true);
}

// "L 2  R 2": what a closed group holds of the highlight.
void GraphPainter::paintChips(const Frame& f, const BoxLight& light, const QPointF& leftMiddle, double right) {
  const double zoom = f.camera.zoom, size = 13 * zoom;
  const int pixels = f.pixels(11);
  QPointF at = leftMiddle;
  for (const char letter : {'N', 'L', 'B', 'R', 'Z', 'A', 'O', 'S'}) {
    const auto found = light.inside.find(letter);
    if (found == light.inside.end()) continue;
    if (at.x() + 2 * size > right) {  // what opens the group stands there
      texts_.draw(f.painter, at, QStringLiteral("…"), TextStyle::Regular, pixels);
      return;
    }
    ui::paintClassMark(f.painter, QRectF(at.x(), at.y() - size / 2, size, size), QLatin1Char(letter), f.theme);
    const QString count = QString::number(found->second);
    f.painter.setPen(f.theme.text);
    const double textX = at.x() + size + (letter == 'S' ? 6 : 4) * zoom;
    texts_.draw(f.painter, {textX, at.y()}, count, TextStyle::Regular, pixels);
    at.setX(textX + texts_.width(count, TextStyle::Regular, pixels) + 10 * zoom);
  }
}

void GraphPainter::paintBadge(const Frame& f, int index, bool plus) {
  const double zoom = f.camera.zoom;
  const QRectF rect = f.camera.toScreen(Scene::badgeRect(f.box(index)));
  const bool hovered = f.state.hover.box == index && f.state.hover.onBadge;
  const BoxState state = f.stateOf(index);
  const bool slim = f.box(index).kind == BoxKind::Slim;
  if (!slim || hovered) {
    f.painter.setBrush(hovered ? f.theme.selection : f.theme.panel);
    f.painter.setPen(QPen(hovered ? f.theme.accentText : f.theme.control, std::clamp(zoom, 0.7, 1.3)));
    f.painter.drawRoundedRect(rect, 4 * zoom, 4 * zoom);
  }
  const double arm = (slim ? 3.2 : 4) * zoom;
  const QPointF c = rect.center();
  const QColor ink = hovered ? f.theme.accentText : state.dim && plus ? f.theme.control : f.theme.textSoft;
  f.painter.setPen(QPen(ink, std::clamp(1.4 * zoom, 1.0, 2.2), Qt::SolidLine, Qt::FlatCap));
  f.painter.drawLine(QPointF(c.x() - arm, c.y()), QPointF(c.x() + arm, c.y()));
  if (plus) f.painter.drawLine(QPointF(c.x(), c.y() - arm), QPointF(c.x(), c.y() + arm));
}

// The edges of more cards under the first one.
void GraphPainter::paintStack(const Frame& f, int index, const QRectF& rect, const BoxState& state) {
  const BoxStyle style = boxStyle(f.box(index).kind, 'O', state, f.theme);
  for (const int sheet : {2, 1}) {
    const double shift = 4 * sheet * f.camera.zoom;
    BoxStyle below = style;
    below.glow = QColor();
    BoxSprites::paint(f.painter, rect.adjusted(shift, shift, shift, shift), f.camera.zoom, BoxKind::Card, below);
  }
}

void GraphPainter::paintRough(const Frame& f, int index) {
  const Box& box = f.box(index);
  const QRectF rect = f.screen(index);
  const BoxState state = f.stateOf(index);
  const BoxStyle style = boxStyle(box.kind, f.letterOf(index), state, f.theme);
  f.painter.setRenderHint(QPainter::Antialiasing, false);
  if (state.selected || state.chosen || state.blocker) {
    f.painter.fillRect(rect.adjusted(-3, -3, 3, 3), style.glow.isValid() ? style.glow : style.border);
  }
  const bool plain = box.kind == BoxKind::Card || box.kind == BoxKind::Terminal;
  f.painter.fillRect(rect, plain ? style.border : mixed(style.border, style.fill, state.dim ? 0.5 : 0.8));
  if (plain && rect.height() > 4) f.painter.fillRect(rect.adjusted(1, 1, -1, -1), style.fill);
  f.painter.setRenderHint(QPainter::Antialiasing, true);
}

namespace {

// Far out the title is bigger than its place: it stays inside the frame.
double overviewLeft(const QRectF& rect, double titleX, double width) {
  return std::min(rect.left() + std::max(titleX, 6.0), rect.right() - width - 6);
}

using layout::BoxKind;

constexpr qsizetype kMaxSprites = 1500;
constexpr double kMargin = 7;  // room for the glow

double cornerRadius(BoxKind kind, const QRectF& rect) {
  switch (kind) {
    case BoxKind::Sum:
    case BoxKind::Terminal:
      return rect.height() / 2;
    case BoxKind::Card:
    case BoxKind::Frame:
      return 8;
    default:
      return 5;
  }
}

void paintBar(QPainter& painter, const QRectF& rect, double radius, double width, const QColor& color) {
  QPainterPath box;
  box.addRoundedRect(rect, radius, radius);
  QPainterPath left;
  left.addRect(QRectF(rect.left(), rect.top(), width, rect.height()));
  painter.fillPath(box.intersected(left), color);
}

void paintPlus(QPainter& painter, const QRectF& rect, double zoom, const QColor& color) {
  const double arm = 5 * zoom;
  painter.setPen(QPen(color, std::max(1.0, 2 * zoom), Qt::SolidLine, Qt::FlatCap));
  const QPointF c = rect.center();
  painter.drawLine(QPointF(c.x() - arm, c.y()), QPointF(c.x() + arm, c.y()));
  painter.drawLine(QPointF(c.x(), c.y() - arm), QPointF(c.x(), c.y() + arm));
}

}  // namespace

// Far out, names of groups are still readable where there is room: at a size of their own, not the drawing's.
void GraphPainter::paintOverviewTitles(const Frame& f, const std::vector<int>& boxes) {
  constexpr int kPixels = 11;
  for (const int index : boxes) {
    const BoxKind kind = f.box(index).kind;
    if (kind != BoxKind::Card && kind != BoxKind::Frame) continue;
    const QRectF rect = f.screen(index);
    const QString& title = f.scene.titles[static_cast<size_t>(index)];
    if (rect.height() < 13 || rect.width() < texts_.width(title, TextStyle::Bold, kPixels) + 10) continue;
    const bool card = kind == BoxKind::Card;
    if (!card && (rect.height() < 60 || rect.width() < 80)) continue;
    const BoxState state = f.stateOf(index);
    f.painter.setPen(state.dim && card ? boxStyle(kind, 'O', state, f.theme).text
                     : card            ? f.theme.text
                                       : f.theme.textSoft);
    const double width = texts_.width(title, TextStyle::Bold, kPixels);
    const double x =
        card ? rect.center().x() - width / 2 : overviewLeft(rect, f.box(index).titleX * f.camera.zoom, width);
    const double y = card ? rect.center().y() : rect.top() + 10;
    texts_.draw(f.painter, {x, y}, title, TextStyle::Bold, kPixels);
  }
}

void BoxSprites::paint(QPainter& painter, const QRectF& rect, double zoom, BoxKind kind, const BoxStyle& style) {
  const double width = std::max(style.borderWidth * std::clamp(zoom, 0.6, 1.5), 0.8);
  const QRectF inner = rect.adjusted(width / 2, width / 2, -width / 2, -width / 2);
  const double radius = std::min(cornerRadius(kind, QRectF(QPointF(), rect.size() / zoom)) * zoom, inner.height() / 2);
  if (style.glow.isValid()) {
    const double glow = 4 * std::clamp(zoom, 0.6, 1.5);
    painter.setPen(Qt::NoPen);
    painter.setBrush(style.glow);
    painter.drawRoundedRect(rect.adjusted(-glow, -glow, glow, glow), radius + glow, radius + glow);
  }
  painter.setPen(Qt::NoPen);
  painter.setBrush(style.fill);
  painter.drawRoundedRect(inner, radius, radius);
  if (style.bar.isValid()) paintBar(painter, inner, radius, 4.5 * zoom, style.bar);
  painter.setBrush(Qt::NoBrush);
  painter.setPen(QPen(style.border, width));
  painter.drawRoundedRect(inner, radius, radius);
  if (kind == BoxKind::Sum) paintPlus(painter, rect, zoom, style.text);
}

void BoxSprites::draw(QPainter& painter, const QRectF& rect, double zoom, BoxKind kind, char letter,
                      const BoxState& state, const ui::Theme& theme) {
  const double ratio = painter.device()->devicePixelRatioF();
  // Whole device pixels: borders stay sharp, and equal boxes share a picture.
  const auto snap = [ratio](double v) { return std::round(v * ratio) / ratio; };
  const QRectF box(snap(rect.left()), snap(rect.top()), snap(rect.width()), snap(rect.height()));
  const int w = static_cast<int>(std::lround(box.width() * ratio)),
            h = static_cast<int>(std::lround(box.height() * ratio)),
            margin = static_cast<int>(std::ceil(kMargin * ratio));
  const QPointF corner(margin / ratio, margin / ratio);  // The box's corner in its picture.
  const quint64 key = static_cast<quint64>(w) | static_cast<quint64>(h) << 16 |
                      static_cast<quint64>(state.bits()) << 32 |  // Of 12 bits.
                      static_cast<quint64>(static_cast<unsigned char>(letter)) << 44 | static_cast<quint64>(kind) << 52;
  auto sprite = sprites_.constFind(key);
  if (sprite == sprites_.constEnd()) {
    if (sprites_.size() > kMaxSprites) sprites_.clear();
    QPixmap picture(w + 2 * margin, h + 2 * margin);
    picture.setDevicePixelRatio(ratio);
    picture.fill(Qt::transparent);
    QPainter pen(&picture);
    pen.setRenderHint(QPainter::Antialiasing);
    paint(pen, QRectF(corner, box.size()), zoom, kind, boxStyle(kind, letter, state, theme));
    pen.end();
    sprite = sprites_.insert(key, picture);
  }
  painter.drawPixmap(box.topLeft() - corner, *sprite);
}

}  // namespace normlens::graphview
