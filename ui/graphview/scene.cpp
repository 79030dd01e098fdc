#include "ui/graphview/scene.h"

#include <QLineF>
#include <algorithm>
#include <cmath>
#include <numeric>
#include <ranges>
#include <utility>

#include "ui/words/format.h"

namespace normlens::graphview {
namespace {

using layout::BoxKind;

constexpr int kStepsPerCurve = 10;

void flatten(const std::vector<QPointF>& points, int first, int count, std::vector<QPointF>& flat) {
  const auto at = [&](int i) { return points[static_cast<size_t>(first) + static_cast<size_t>(i)]; };
  flat.push_back(at(0));
  for (int i = 0; i + 3 < count; i += 3) {
    const QPointF p0 = at(i), p1 = at(i + 1), p2 = at(i + 2), p3 = at(i + 3);
    const QPointF chord = p3 - p0;
    const double length = std::hypot(chord.x(), chord.y());
    const auto distance = [&](const QPointF& p) {
      const QPointF d = p - p0;
      return length < 1e-9 ? 0.0 : std::abs(d.x() * chord.y() - d.y() * chord.x()) / length;
    };
    const bool straight = distance(p1) < 0.3 && distance(p2) < 0.3;
    const int steps = straight ? 1 : kStepsPerCurve;
    for (int s = 1; s <= steps; ++s) {
      const double t = static_cast<double>(s) / steps, u = 1 - t;
      flat.push_back(p0 * (u * u * u) + p1 * (3 * u * u * t) + p2 * (3 * u * t * t) + p3 * (t * t * t));
    }
  }
}

double distanceToSegment(const QPointF& p, const QPointF& a, const QPointF& b) {
  const QPointF d = b - a;
  const double length = QPointF::dotProduct(d, d);
  const double t = length < 1e-12 ? 0 : std::clamp(QPointF::dotProduct(p - a, d) / length, 0.0, 1.0);
  return QLineF(p, a + d * t).length();
}

}  // namespace

void GridIndex::build(const QRectF& bounds, const std::vector<QRectF>& rects) {
  rects_ = rects;
  all_ = bounds;
  for (const QRectF& rect : rects) all_ = all_.united(rect);
  origin_ = bounds.topLeft();
  columns_ = std::max(1, static_cast<int>(bounds.width() / kCell) + 1);
  rows_ = std::max(1, static_cast<int>(bounds.height() / kCell) + 1);
  cells_ = {static_cast<size_t>(columns_) * static_cast<size_t>(rows_), [this](auto put) {
              large_.clear();
              for (size_t i = 0; i < rects_.size(); ++i) {
                const Range r = cellsOf(rects_[i]);
                if ((r.right - r.left + 1) * (r.bottom - r.top + 1) > kMaxCellsPerRect) {
                  large_.push_back(static_cast<int>(i));
                  continue;
                }
                for (int y = r.top; y <= r.bottom; ++y) {
                  for (int x = r.left; x <= r.right; ++x) put(cell(x, y), static_cast<int>(i));
                }
              }
            }};
}

GridIndex::Range GridIndex::cellsOf(const QRectF& area) const {
  const auto place = [](double at, int count) {
    return std::clamp(static_cast<int>(std::floor(at / kCell)), 0, count - 1);
  };
  return {place(area.left() - origin_.x(), columns_), place(area.top() - origin_.y(), rows_),
          place(area.right() - origin_.x(), columns_), place(area.bottom() - origin_.y(), rows_)};
}

void GridIndex::query(const QRectF& area, std::vector<int>& found) const {
  found.clear();
  if (columns_ == 0) return;
  if (area.contains(all_)) {
    found.resize(rects_.size());
    std::iota(found.begin(), found.end(), 0);
    return;
  }
  const Range r = cellsOf(area);
  for (int y = r.top; y <= r.bottom; ++y) {
    for (int x = r.left; x <= r.right; ++x) {
      const auto here = cells_.of(cell(x, y));
      found.insert(found.end(), here.begin(), here.end());
    }
  }
  found.insert(found.end(), large_.begin(), large_.end());
  std::sort(found.begin(), found.end());
  found.erase(std::unique(found.begin(), found.end()), found.end());
  std::erase_if(found, [&](int i) {
    const QRectF& rect = rects_[static_cast<size_t>(i)];
    return rect.right() < area.left() || rect.left() > area.right() || rect.bottom() < area.top() ||
           rect.top() > area.bottom();
  });
}

Scene::Scene(std::shared_ptr<const layout::Hierarchy> h, std::shared_ptr<const layout::Layout> l)
    : hierarchy(std::move(h)), layout(std::move(l)) {
  std::vector<QRectF> rects;
  flatStart.reserve(layout->edges.size() + 1);
  for (const layout::Edge& edge : layout->edges) {
    flatStart.push_back(static_cast<int>(flat.size()));
    flatten(layout->points, edge.firstPoint, edge.pointCount, flat);
    rects.push_back(edge.bounds);
  }
  flatStart.push_back(static_cast<int>(flat.size()));
  edgeIndex.build(layout->bounds, rects);
  rects.clear();
  titles.reserve(layout->boxes.size());
  for (const layout::Box& box : layout->boxes) {
    rects.push_back(box.rect);
    titles.push_back(ui::text(itemOf(box).title));
  }
  boxIndex.build(layout->bounds, rects);
}

std::span<const QPointF> Scene::polyline(int edge) const {
  const auto begin = static_cast<size_t>(flatStart[static_cast<size_t>(edge)]);
  const auto end = static_cast<size_t>(flatStart[static_cast<size_t>(edge) + 1]);
  return {flat.data() + begin, end - begin};
}

int Scene::valueOfEdge(int index) const {
  const auto through = dataOf(index);
  const int value = through.front().value;
  const bool one = std::ranges::all_of(through, [value](const layout::DataEdge& data) { return data.value == value; });
  return one ? value : -1;
}

int Scene::depthOf(int box) const {
  int depth = 0;
  for (int frame = this->box(box).frame; frame >= 0; frame = this->box(frame).frame) ++depth;
  return depth;
}

QRectF Scene::badgeRect(const layout::Box& box) {
  const QRectF& r = box.rect;
  switch (box.kind) {
    case BoxKind::Card:
      return {r.right() - 30, r.center().y() - 9, 18, 18};
    case BoxKind::Slim:
      return {r.right() - 20, r.center().y() - 7, 14, 14};
    case BoxKind::Frame:
      return {r.left() + box.titleX + 2, r.top() + 6, 16, 16};
    default:
      return {};
  }
}

Hit Scene::hitTest(const QPointF& world, double slack) const {
  if (empty()) return {};
  std::vector<int> found;
  const QRectF area(world.x() - slack, world.y() - slack, 2 * slack, 2 * slack);
  boxIndex.query(area, found);
  int frame = -1;
  for (const int i : std::views::reverse(found)) {
    const layout::Box& box = this->box(i);
    const QRectF badge = badgeRect(box);
    if (!badge.isEmpty() && badge.adjusted(-3, -3, 3, 3).contains(world)) return {i, -1, true};
    if (!box.rect.contains(world)) continue;
    if (box.kind != BoxKind::Frame) return {i, -1, false};
    if (frame < 0) frame = i;
  }
  edgeIndex.query(area, found);
  int best = -1;
  double bestDistance = slack;
  for (const int e : found) {
    const auto line = polyline(e);
    for (size_t i = 1; i < line.size(); ++i) {
      const double distance = distanceToSegment(world, line[i - 1], line[i]);
      if (distance < bestDistance) best = e, bestDistance = distance;
    }
  }
  return best >= 0 ? Hit{-1, best, false} : Hit{frame, -1, false};
}

std::optional<QPointF> Scene::hangingPoint(int item) const {
  const int box = boxOf(item);
  if (box < 0) return std::nullopt;
  const QRectF rect = this->box(box).rect;
  for (const layout::Edge& edge : layout->edges) {
    const QPointF end = endOf(edge);
    const double off = runsDown() ? end.y() - rect.top() : end.x() - rect.left();
    if (edge.stream && std::abs(off) < 1.5 && rect.adjusted(-2, -2, 2, 2).contains(end)) return end;
  }
  return runsDown() ? QPointF(rect.center().x(), rect.top()) : QPointF(rect.left(), rect.center().y());
}

}  // namespace normlens::graphview
