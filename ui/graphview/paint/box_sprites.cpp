#include "ui/graphview/paint/box_sprites.h"

#include <QPainter>
#include <QPainterPath>
#include <algorithm>
#include <cmath>

namespace normlens::graphview {
namespace {

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
  const QPointF corner(margin / ratio, margin / ratio);  // of the box in its picture
  const quint64 key = static_cast<quint64>(w) | static_cast<quint64>(h) << 16 |
                      static_cast<quint64>(state.bits()) << 32 |
                      static_cast<quint64>(static_cast<unsigned char>(letter)) << 40 | static_cast<quint64>(kind) << 48;
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
