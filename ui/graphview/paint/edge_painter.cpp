#include "ui/graphview/paint/edge_painter.h"

#include <QPainter>
#include <QPainterPath>
#include <algorithm>
#include <cmath>

#include "ui/graphview/box_style.h"
#include "ui/graphview/paint/painter_frame.h"

namespace normlens::graphview {
namespace {

constexpr double kLabelZoom = 1.15;     // from here on every edge may carry its shape
constexpr double kLitLabelZoom = 0.62;  // lit, chosen and hovered ones earlier
constexpr double kLabelPixels = 10;

bool sameValue(const PaintFrame& f, int edge, int value) {
  return value >= 0 &&
         std::ranges::any_of(f.scene.dataOf(edge), [value](const auto& data) { return data.value == value; });
}

Side sideOf(const PaintFrame& f, int edge) { return f.state.reach == nullptr ? Side::None : f.state.reach->edge(edge); }

double lineScale(double zoom) { return std::clamp(zoom, 0.55, 1.4); }

}  // namespace

EdgePainter::Look EdgePainter::lookOf(const PaintFrame& f, int index) {
  const ui::Theme& t = f.theme;
  const layout::Edge& edge = f.scene.edge(index);
  const bool active = f.lighting.active();
  const double scale = lineScale(f.camera.zoom);
  Look look{active ? mixed(t.textFaint, t.canvas, t.dark ? 0.42 : 0.36) : mixed(t.textFaint, t.canvas, 0.82), 1.5};
  if (edge.bridge) look.color = mixed(t.textFaint, t.canvas, active ? 0.25 : 0.45);
  if (edge.stream) look = {active ? mixed(t.streamLine, t.canvas, t.dark ? 0.42 : 0.38) : t.streamLine, 4};
  const Look lit[] = {look,  // by LitEdge
                      {t.streamLine, look.width},
                      {t.linearLine, edge.stream ? 4.0 : 2.0},
                      {t.classes.chosen, 2},
                      {t.opaqueLine, edge.stream ? 4.0 : 2.5},
                      {t.streamLine, 2}};
  look = lit[static_cast<size_t>(f.lighting.edge(index))];
  if (f.means.active() && !active) {
    const MeanState mean = f.means.edge(index);
    look.color = meanColor(mean, t);
    if (mean != MeanState::Unknown) look.width = std::max(look.width, 2.2);
  }
  const Side side = sideOf(f, index);
  if (side != Side::None)
    look = {side == Side::Upstream ? t.classes.centering : t.classes.chosen, std::max(look.width, 2.0)};
  if (sameValue(f, index, f.state.selectedValue)) {
    look = {t.accentText, std::max(look.width, 2.5)};
  } else if (sameValue(f, index, f.state.hoveredValue)) {
    look = {mixed(look.color, t.text, 0.45), std::max(look.width, 2.0)};
  }
  look.width *= scale;
  return look;
}

void EdgePainter::addLines(const PaintFrame& f, int edge, std::vector<QLineF>& lines) {
  const auto points = f.scene.polyline(edge);
  // Rough: every third point is enough for a curve a few pixels high.
  const size_t step = f.detailed ? 1 : 3;
  const QRectF& area = f.visible;
  for (size_t i = 0; i + 1 < points.size();) {
    const size_t next = std::min(i + step, points.size() - 1);
    const QPointF &a = points[i], &b = points[next];
    const bool outside = std::max(a.x(), b.x()) < area.left() || std::min(a.x(), b.x()) > area.right() ||
                         std::max(a.y(), b.y()) < area.top() || std::min(a.y(), b.y()) > area.bottom();
    if (!outside) lines.emplace_back(f.camera.toScreen(a), f.camera.toScreen(b));
    i = next;
  }
}

void EdgePainter::paint(const PaintFrame& f) {
  f.scene.edgeIndex.query(f.visible, found_);
  wide_.clear();
  for (Batch& batch : batches_) {
    batch.lines.clear();
    batch.arrows.clear();
  }
  for (const int index : found_) {
    const layout::Edge& edge = f.scene.edge(index);
    const bool special = edge.stream || edge.bridge || (f.lighting.edge(index) != LitEdge::Dark) ||
                         sameValue(f, index, f.state.selectedValue) || sameValue(f, index, f.state.hoveredValue) ||
                         (f.detailed && f.means.edge(index) > MeanState::Now);  // dashes
    if (special) {
      wide_.push_back(index);
      continue;
    }
    if (f.camera.zoom < kSpeckZoom) continue;
    const MeanState mean = f.means.edge(index);
    const size_t kind =
        mean == MeanState::Unknown ? static_cast<size_t>(sideOf(f, index)) : 2 + static_cast<size_t>(mean);
    Batch& batch = batches_[kind];
    if (batch.lines.empty()) batch.look = lookOf(f, index);
    addLines(f, index, batch.lines);
    if (edge.arrow && f.detailed) batch.arrows.push_back(index);
  }
  for (const Batch& batch : batches_) paintBatch(f, batch);
  // The stream under what is lit, dark under lit.
  std::stable_sort(wide_.begin(), wide_.end(), [&](int a, int b) {
    const auto rank = [&](int i) {
      const bool lit = f.lighting.edge(i) != LitEdge::Dark;
      return (lit ? 2 : 0) + (f.scene.edge(i).stream ? 0 : 1);
    };
    return rank(a) < rank(b);
  });
  bool partsDone = false;
  for (const int index : wide_) {
    if (f.stopped()) return;
    if (!partsDone && f.lighting.edge(index) != LitEdge::Dark) {
      paintLitParts(f);
      partsDone = true;
    }
    paintWide(f, index, lookOf(f, index));
  }
  if (!partsDone) paintLitParts(f);
}

void EdgePainter::paintBatch(const PaintFrame& f, const Batch& batch) {
  f.painter.setPen(QPen(batch.look.color, f.detailed ? batch.look.width : 1, Qt::SolidLine, Qt::FlatCap));
  constexpr size_t kAtOnce = 4096;
  for (size_t first = 0; first < batch.lines.size() && !f.stopped(); first += kAtOnce) {
    const size_t count = std::min(kAtOnce, batch.lines.size() - first);
    f.painter.drawLines(batch.lines.data() + first, static_cast<int>(count));
  }
  f.painter.setPen(Qt::NoPen);
  for (const int index : batch.arrows) {
    if (f.stopped()) return;
    paintArrow(f, index, batch.look);
  }
}

void EdgePainter::paintWide(const PaintFrame& f, int index, const Look& look) {
  thin_.clear();
  addLines(f, index, thin_);
  if (thin_.empty()) return;
  const layout::Edge& edge = f.scene.edge(index);
  QPen pen(look.color, look.width, Qt::SolidLine, Qt::FlatCap, Qt::RoundJoin);
  if (edge.bridge) pen.setDashPattern({3, 3});
  if (f.detailed) setMeanDashes(pen, f.means.edge(index));
  f.painter.setPen(pen);
  if (thin_.size() == 1) {
    f.painter.drawLine(thin_.front());
  } else {
    QPolygonF line;
    for (const QLineF& piece : thin_) line << piece.p1();
    line << thin_.back().p2();
    f.painter.setBrush(Qt::NoBrush);
    f.painter.drawPolyline(line);
  }
  f.painter.setPen(Qt::NoPen);
  if (edge.arrow && !edge.stream && f.detailed) paintArrow(f, index, look);
}

void EdgePainter::paintLitParts(const PaintFrame& f) {
  for (const LitPart& part : f.lighting.parts()) {
    const layout::Edge& edge = f.scene.edge(part.edge);
    const QPointF top = f.scene.startOf(edge);
    const QPointF end =
        f.scene.runsDown() ? QPointF(top.x(), part.until.y() + 1) : QPointF(part.until.x() + 1, top.y());
    const QPointF a = f.camera.toScreen(top), b = f.camera.toScreen(end);
    const double width = 4 * lineScale(f.camera.zoom);
    f.painter.setPen(QPen(f.theme.streamLine, width, Qt::SolidLine, Qt::FlatCap));
    f.painter.drawLine(a, b);
  }
}

void EdgePainter::paintArrow(const PaintFrame& f, int index, const Look& look) {
  const auto points = f.scene.polyline(index);
  const double scale = std::clamp(f.camera.zoom, 0.5, 1.6);
  const double length = (look.width > 1.8 * scale ? 8.5 : 7.5) * scale,
               half = (look.width > 1.8 * scale ? 4.2 : 3.6) * scale;
  const QPointF tip = points.back();
  if (!f.visible.adjusted(-10, -10, 10, 10).contains(tip)) return;
  QPointF back = points[points.size() - 2];
  for (size_t i = points.size() - 1; i-- > 0;) {  // far enough back to see the direction
    back = points[i];
    if (QLineF(back, tip).length() * f.camera.zoom > length) break;
  }
  QPointF direction = tip - back;
  const double norm = std::hypot(direction.x(), direction.y());
  if (norm < 1e-6) return;
  direction /= norm;
  const QPointF at = f.camera.toScreen(tip), side(-direction.y(), direction.x());
  const QPointF triangle[3] = {at, at - direction * length + side * half, at - direction * length - side * half};
  f.painter.setBrush(look.color);
  f.painter.drawConvexPolygon(triangle, 3);
}

// The middle of the longest straight piece, or of a long curve; if nothing is there.
bool EdgePainter::placeLabel(const PaintFrame& f, int edge, const QSizeF& size, QRectF& place) const {
  const auto points = f.scene.polyline(edge);
  double total = 0;
  QLineF longest(points[0], points[1]);
  for (size_t i = 1; i < points.size(); ++i) {
    const QLineF piece(points[i - 1], points[i]);
    total += piece.length();
    if (piece.length() > longest.length()) longest = piece;
  }
  const auto fits = [&](const QLineF& line, double length) {
    const double steep = line.length() > 0 ? std::abs(line.dy()) / line.length() : 1;
    return length * f.camera.zoom >= (steep > 0.7 ? size.height() + 16 : size.width() + 26);
  };
  QPointF middle = longest.center();
  if (!fits(longest, longest.length())) {
    if (longest.length() > 0.35 * total) return false;
    double left = total / 2;
    for (size_t i = 1; i < points.size(); ++i) {
      const QLineF piece(points[i - 1], points[i]);
      if (left <= piece.length() && piece.length() > 0) {
        if (!fits(piece, total)) return false;
        middle = piece.pointAt(left / piece.length());
        break;
      }
      left -= piece.length();
    }
  }
  const QPointF at = f.camera.toScreen(middle);
  place = QRectF(at.x() - size.width() / 2, at.y() - size.height() / 2, size.width(), size.height());
  return std::none_of(placed_.begin(), placed_.end(), [&](const QRectF& r) { return r.intersects(place); });
}

void EdgePainter::paintLabels(const PaintFrame& f, TextCache& texts) {
  const double zoom = f.camera.zoom;
  if (zoom < kLitLabelZoom) return;
  placed_.clear();
  const int pixels = std::clamp(static_cast<int>(std::lround(kLabelPixels * zoom)), 9, 15);
  for (const int pass : {0, 1}) {  // emphasized labels first, so that they get their place
    for (const int index : found_) {
      if (f.stopped()) return;
      const bool chosen = sameValue(f, index, f.state.selectedValue) || sameValue(f, index, f.state.hoveredValue);
      const bool lit = f.lighting.edge(index) != LitEdge::Dark;
      const layout::Edge& edge = f.scene.edge(index);
      if ((pass == 0) != (chosen || lit)) continue;
      if (pass == 1 && (f.lighting.active() || zoom < kLabelZoom)) continue;
      if (edge.stream && !chosen) continue;
      const int value = f.scene.valueOfEdge(index);
      if (value < 0) continue;
      const QString text = valueText(f.scene.hierarchy->document->values[static_cast<size_t>(value)]);
      if (text.isEmpty()) continue;
      QRectF place;
      if (!placeLabel(f, index, {texts.width(text, TextStyle::Mono, pixels) + 8, pixels + 4.0}, place)) continue;
      const QRectF world = f.camera.toWorld(place);
      f.scene.boxIndex.query(world, near_);
      QColor ground = f.theme.canvas;
      bool free = true;
      for (const int box : near_) {
        const layout::Box& b = f.scene.box(box);
        if (b.kind != layout::BoxKind::Frame) free = false;
        if (b.kind == layout::BoxKind::Frame && !b.rect.contains(world)) free = false;
        if (b.kind == layout::BoxKind::Frame) ground = frameStyle(f.scene.depthOf(box), {}, f.theme).fill;
      }
      if (!free) continue;
      placed_.push_back(place);
      f.painter.fillRect(place, ground);
      f.painter.setPen(chosen ? f.theme.accentText : f.theme.textFaint);
      texts.draw(f.painter, {place.left() + 4, place.center().y()}, text, TextStyle::Mono, pixels);
    }
  }
}

}  // namespace normlens::graphview
