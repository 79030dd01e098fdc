#include "ui/graphview/paint/edge_painter.h"

#include <QPainter>
#include <QPainterPath>
#include <algorithm>
#include <cmath>

#include "ui/graphview/paint/box_style.h"
#include "ui/graphview/paint/graph_painter.h"

namespace normlens::graphview {
namespace {

constexpr double kLabelZoom = 1.15;     // from here on every edge may carry its shape
constexpr double kLitLabelZoom = 0.62;  // lit, chosen and hovered ones earlier
constexpr double kLabelPixels = 10;

bool sameValue(const EdgeView& view, int edge, int value) {
  if (value < 0) return false;
  const layout::Edge& e = view.scene.layout->edges[static_cast<size_t>(edge)];
  for (int i = 0; i < e.dataCount; ++i) {
    const int data = view.scene.layout->edgeData[static_cast<size_t>(e.firstData + i)];
    if (view.scene.hierarchy->edges[static_cast<size_t>(data)].value == value) return true;
  }
  return false;
}

bool stopped(const EdgeView& view) { return view.stop != nullptr && view.stop->stop_requested(); }

QColor sideColor(Side side, const ui::Theme& theme) {
  return side == Side::Upstream ? theme.classes.centering : theme.classes.chosen;
}

double lineScale(double zoom) { return std::clamp(zoom, 0.55, 1.4); }

}  // namespace

EdgePainter::Look EdgePainter::lookOf(const EdgeView& view, int index) const {
  const ui::Theme& t = view.theme;
  const layout::Edge& edge = view.scene.layout->edges[static_cast<size_t>(index)];
  const bool active = view.lighting != nullptr && view.lighting->active();
  const double scale = lineScale(view.camera.zoom);
  const LitEdge lit = active ? view.lighting->edge(index) : LitEdge::Dark;
  Look look{active ? mixed(t.textFaint, t.canvas, t.dark ? 0.42 : 0.36) : mixed(t.textFaint, t.canvas, 0.82), 1.5};
  if (edge.bridge) look.color = mixed(t.textFaint, t.canvas, active ? 0.25 : 0.45);
  if (edge.stream) look = {active ? mixed(t.streamLine, t.canvas, t.dark ? 0.42 : 0.38) : t.streamLine, 4};
  switch (lit) {
    case LitEdge::Dark:
      break;
    case LitEdge::Stream:
      look.color = t.streamLine;
      break;
    case LitEdge::Linear:
      look = {t.linearLine, edge.stream ? 4.0 : 2.0};
      break;
    case LitEdge::IntoNorm:
      look = {t.classes.chosen, 2};
      break;
    case LitEdge::Blocker:
      look = {t.opaqueLine, edge.stream ? 4.0 : 2.5};
      break;
    case LitEdge::Other:
      look = {t.streamLine, 2};
      break;
  }
  if (view.means != nullptr && view.means->active() && !active) {
    const MeanState mean = view.means->edge(index);
    look.color = meanColor(mean, t);
    if (mean != MeanState::Unknown) look.width = std::max(look.width, 2.2);
  }
  const Side side = sideOf(view, index);
  if (side != Side::None) look = {sideColor(side, t), std::max(look.width, 2.0)};
  if (sameValue(view, index, view.selectedValue)) {
    look = {t.accentText, std::max(look.width, 2.5)};
  } else if (sameValue(view, index, view.hoveredValue)) {
    look = {mixed(look.color, t.text, 0.45), std::max(look.width, 2.0)};
  }
  look.width *= scale;
  return look;
}

void EdgePainter::addLines(const EdgeView& view, int edge, std::vector<QLineF>& lines) const {
  const auto points = view.scene.polyline(edge);
  // Rough: every third point is enough for a curve a few pixels high.
  const size_t step = view.detailed ? 1 : 3;
  const QRectF& area = view.visible;
  for (size_t i = 0; i + 1 < points.size();) {
    const size_t next = std::min(i + step, points.size() - 1);
    const QPointF &a = points[i], &b = points[next];
    const bool outside = std::max(a.x(), b.x()) < area.left() || std::min(a.x(), b.x()) > area.right() ||
                         std::max(a.y(), b.y()) < area.top() || std::min(a.y(), b.y()) > area.bottom();
    if (!outside) lines.emplace_back(view.camera.toScreen(a), view.camera.toScreen(b));
    i = next;
  }
}

void EdgePainter::paint(QPainter& painter, const EdgeView& view) {
  view.scene.edgeIndex.query(view.visible, found_);
  wide_.clear();
  const bool active = view.lighting != nullptr && view.lighting->active();
  for (Batch& batch : batches_) {
    batch.lines.clear();
    batch.arrows.clear();
  }
  for (const int index : found_) {
    const layout::Edge& edge = view.scene.layout->edges[static_cast<size_t>(index)];
    const bool special = edge.stream || edge.bridge || (active && view.lighting->edge(index) != LitEdge::Dark) ||
                         sameValue(view, index, view.selectedValue) || sameValue(view, index, view.hoveredValue) ||
                         (view.detailed && meanOf(view, index) > MeanState::Now);  // dashes
    if (special) {
      wide_.push_back(index);
      continue;
    }
    if (view.camera.zoom < GraphPainter::kSpeckZoom) continue;
    const MeanState mean = meanOf(view, index);
    const size_t kind =
        mean == MeanState::Unknown ? static_cast<size_t>(sideOf(view, index)) : 2 + static_cast<size_t>(mean);
    Batch& batch = batches_[kind];
    if (batch.lines.empty()) batch.look = lookOf(view, index);
    addLines(view, index, batch.lines);
    if (edge.arrow && view.detailed) batch.arrows.push_back(index);
  }
  for (const Batch& batch : batches_) paintBatch(painter, view, batch);
  // The stream under what is lit, dark under lit.
  std::stable_sort(wide_.begin(), wide_.end(), [&](int a, int b) {
    const auto rank = [&](int i) {
      const bool lit = active && view.lighting->edge(i) != LitEdge::Dark;
      return (lit ? 2 : 0) + (view.scene.layout->edges[static_cast<size_t>(i)].stream ? 0 : 1);
    };
    return rank(a) < rank(b);
  });
  bool partsDone = !active;
  for (const int index : wide_) {
    if (stopped(view)) return;
    if (!partsDone && view.lighting->edge(index) != LitEdge::Dark) {
      paintLitParts(painter, view);
      partsDone = true;
    }
    paintWide(painter, view, index, lookOf(view, index));
  }
  if (!partsDone) paintLitParts(painter, view);
}

Side EdgePainter::sideOf(const EdgeView& view, int edge) {
  return view.reach != nullptr && view.reach->active() ? view.reach->edge(edge) : Side::None;
}

MeanState EdgePainter::meanOf(const EdgeView& view, int edge) {
  return view.means != nullptr && view.means->active() ? view.means->edge(edge) : MeanState::Unknown;
}

void EdgePainter::paintBatch(QPainter& painter, const EdgeView& view, const Batch& batch) const {
  painter.setPen(QPen(batch.look.color, view.detailed ? batch.look.width : 1, Qt::SolidLine, Qt::FlatCap));
  constexpr size_t kAtOnce = 4096;
  for (size_t first = 0; first < batch.lines.size() && !stopped(view); first += kAtOnce) {
    const size_t count = std::min(kAtOnce, batch.lines.size() - first);
    painter.drawLines(batch.lines.data() + first, static_cast<int>(count));
  }
  painter.setPen(Qt::NoPen);
  for (const int index : batch.arrows) {
    if (stopped(view)) return;
    paintArrow(painter, view, index, batch.look);
  }
}

void EdgePainter::paintWide(QPainter& painter, const EdgeView& view, int index, const Look& look) {
  thin_.clear();
  addLines(view, index, thin_);
  if (thin_.empty()) return;
  const layout::Edge& edge = view.scene.layout->edges[static_cast<size_t>(index)];
  QPen pen(look.color, look.width, Qt::SolidLine, Qt::FlatCap, Qt::RoundJoin);
  if (edge.bridge) pen.setDashPattern({3, 3});
  if (view.detailed) setMeanDashes(pen, meanOf(view, index));
  painter.setPen(pen);
  if (thin_.size() == 1) {
    painter.drawLine(thin_.front());
  } else {
    QPolygonF line;
    for (const QLineF& piece : thin_) line << piece.p1();
    line << thin_.back().p2();
    painter.setBrush(Qt::NoBrush);
    painter.drawPolyline(line);
  }
  painter.setPen(Qt::NoPen);
  if (edge.arrow && !edge.stream && view.detailed) paintArrow(painter, view, index, look);
}

void EdgePainter::paintLitParts(QPainter& painter, const EdgeView& view) const {
  for (const LitPart& part : view.lighting->parts()) {
    const layout::Edge& edge = view.scene.layout->edges[static_cast<size_t>(part.edge)];
    const QPointF top = view.scene.layout->points[static_cast<size_t>(edge.firstPoint)];
    const bool down = view.scene.layout->direction == layout::Direction::Down;
    const QPointF end = down ? QPointF(top.x(), part.until.y() + 1) : QPointF(part.until.x() + 1, top.y());
    const QPointF a = view.camera.toScreen(top), b = view.camera.toScreen(end);
    const double width = 4 * lineScale(view.camera.zoom);
    painter.setPen(QPen(view.theme.streamLine, width, Qt::SolidLine, Qt::FlatCap));
    painter.drawLine(a, b);
  }
}

void EdgePainter::paintArrow(QPainter& painter, const EdgeView& view, int index, const Look& look) const {
  const auto points = view.scene.polyline(index);
  const double scale = std::clamp(view.camera.zoom, 0.5, 1.6);
  const double length = (look.width > 1.8 * scale ? 8.5 : 7.5) * scale,
               half = (look.width > 1.8 * scale ? 4.2 : 3.6) * scale;
  const QPointF tip = points.back();
  if (!view.visible.adjusted(-10, -10, 10, 10).contains(tip)) return;
  QPointF back = points[points.size() - 2];
  for (size_t i = points.size() - 1; i-- > 0;) {  // far enough back to see the direction
    back = points[i];
    if (QLineF(back, tip).length() * view.camera.zoom > length) break;
  }
  QPointF direction = tip - back;
  const double norm = std::hypot(direction.x(), direction.y());
  if (norm < 1e-6) return;
  direction /= norm;
  const QPointF at = view.camera.toScreen(tip), side(-direction.y(), direction.x());
  const QPointF triangle[3] = {at, at - direction * length + side * half, at - direction * length - side * half};
  painter.setBrush(look.color);
  painter.drawConvexPolygon(triangle, 3);
}

// The middle of the longest straight piece, or of a long curve; if nothing is there.
bool EdgePainter::placeLabel(const EdgeView& view, int edge, const QSizeF& size, QRectF& place) const {
  const auto points = view.scene.polyline(edge);
  double total = 0;
  QLineF longest(points[0], points[1]);
  for (size_t i = 1; i < points.size(); ++i) {
    const QLineF piece(points[i - 1], points[i]);
    total += piece.length();
    if (piece.length() > longest.length()) longest = piece;
  }
  const auto fits = [&](const QLineF& line, double length) {
    const double steep = line.length() > 0 ? std::abs(line.dy()) / line.length() : 1;
    return length * view.camera.zoom >= (steep > 0.7 ? size.height() + 16 : size.width() + 26);
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
  const QPointF at = view.camera.toScreen(middle);
  place = QRectF(at.x() - size.width() / 2, at.y() - size.height() / 2, size.width(), size.height());
  return std::none_of(placed_.begin(), placed_.end(), [&](const QRectF& r) { return r.intersects(place); });
}

void EdgePainter::paintLabels(QPainter& painter, const EdgeView& view, TextCache& texts) {
  const double zoom = view.camera.zoom;
  if (zoom < kLitLabelZoom) return;
  placed_.clear();
  const bool active = view.lighting != nullptr && view.lighting->active();
  const int pixels = std::clamp(static_cast<int>(std::lround(kLabelPixels * zoom)), 9, 15);
  for (const int pass : {0, 1}) {  // what stands out first, so that it gets its place
    for (const int index : found_) {
      if (stopped(view)) return;
      const bool chosen = sameValue(view, index, view.selectedValue) || sameValue(view, index, view.hoveredValue);
      const bool lit = active && view.lighting->edge(index) != LitEdge::Dark;
      const layout::Edge& edge = view.scene.layout->edges[static_cast<size_t>(index)];
      if ((pass == 0) != (chosen || lit)) continue;
      if (pass == 1 && (active || zoom < kLabelZoom)) continue;
      if (edge.stream && !chosen) continue;
      const int value = view.scene.valueOfEdge(index);
      if (value < 0) continue;
      const QString text = valueText(view.scene.hierarchy->document->values[static_cast<size_t>(value)]);
      if (text.isEmpty()) continue;
      QRectF place;
      if (!placeLabel(view, index, {texts.width(text, TextStyle::Mono, pixels) + 8, pixels + 4.0}, place)) continue;
      const QRectF world = view.camera.toWorld(place);
      view.scene.boxIndex.query(world, near_);
      QColor ground = view.theme.canvas;
      bool free = true;
      for (const int box : near_) {
        const layout::Box& b = view.scene.layout->boxes[static_cast<size_t>(box)];
        if (b.kind != layout::BoxKind::Frame) free = false;
        if (b.kind == layout::BoxKind::Frame && !b.rect.contains(world)) free = false;
        if (b.kind == layout::BoxKind::Frame) ground = frameStyle(view.scene.depthOf(box), {}, view.theme).fill;
      }
      if (!free) continue;
      placed_.push_back(place);
      painter.fillRect(place, ground);
      painter.setPen(chosen ? view.theme.accentText : view.theme.textFaint);
      texts.draw(painter, {place.left() + 4, place.center().y() + TextCache::middleToBaseline(pixels)}, text,
                 TextStyle::Mono, pixels);
    }
  }
}

}  // namespace normlens::graphview
