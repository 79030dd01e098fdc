#include "ui/graphview/scene.h"

#include <QLineF>
#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

namespace normlens::graphview {
namespace {

using layout::BoxKind;

constexpr int kStepsPerCurve = 10;

void flatten(const std::vector<QPointF>& points, int first, int count, std::vector<QPointF>& flat) {
  const auto at = [&](int i) { return points[static_cast<size_t>(first + i)]; };
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
  large_.clear();
  origin_ = bounds.topLeft();
  columns_ = std::max(1, static_cast<int>(bounds.width() / kCell) + 1);
  rows_ = std::max(1, static_cast<int>(bounds.height() / kCell) + 1);
  start_.assign(static_cast<size_t>(columns_) * static_cast<size_t>(rows_) + 1, 0);
  const auto forEachCell = [this](int index, auto&& action) {
    const Range r = cellsOf(rects_[static_cast<size_t>(index)]);
    if ((r.right - r.left + 1) * (r.bottom - r.top + 1) > kMaxCellsPerRect) return false;
    for (int y = r.top; y <= r.bottom; ++y) {
      for (int x = r.left; x <= r.right; ++x)
        action(static_cast<size_t>(y) * static_cast<size_t>(columns_) + static_cast<size_t>(x));
    }
    return true;
  };
  for (size_t i = 0; i < rects.size(); ++i) {
    if (!forEachCell(static_cast<int>(i), [this](size_t cell) { ++start_[cell + 1]; }))
      large_.push_back(static_cast<int>(i));
  }
  for (size_t c = 1; c < start_.size(); ++c) start_[c] += start_[c - 1];
  entries_.resize(static_cast<size_t>(start_.back()));
  std::vector<int> next(start_.begin(), start_.end() - 1);
  for (size_t i = 0; i < rects.size(); ++i) {
    forEachCell(static_cast<int>(i),
                [&](size_t cell) { entries_[static_cast<size_t>(next[cell]++)] = static_cast<int>(i); });
  }
}

GridIndex::Range GridIndex::cellsOf(const QRectF& area) const {
  const auto cell = [](double at, int count) {
    return std::clamp(static_cast<int>(std::floor(at / kCell)), 0, count - 1);
  };
  return {cell(area.left() - origin_.x(), columns_), cell(area.top() - origin_.y(), rows_),
          cell(area.right() - origin_.x(), columns_), cell(area.bottom() - origin_.y(), rows_)};
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
      const size_t cell = static_cast<size_t>(y) * static_cast<size_t>(columns_) + static_cast<size_t>(x);
      found.insert(found.end(), entries_.begin() + start_[cell], entries_.begin() + start_[cell + 1]);
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
    titles.push_back(QString::fromStdString(itemOf(box).title));
  }
  boxIndex.build(layout->bounds, rects);
}

std::span<const QPointF> Scene::polyline(int edge) const {
  const auto begin = static_cast<size_t>(flatStart[static_cast<size_t>(edge)]);
  const auto end = static_cast<size_t>(flatStart[static_cast<size_t>(edge) + 1]);
  return {flat.data() + begin, end - begin};
}

int Scene::valueOfEdge(int index) const {
  const layout::Edge& edge = layout->edges[static_cast<size_t>(index)];
  int value = -1;
  for (int i = 0; i < edge.dataCount; ++i) {
    const int data = layout->edgeData[static_cast<size_t>(edge.firstData + i)];
    const int other = hierarchy->edges[static_cast<size_t>(data)].value;
    if (i > 0 && other != value) return -1;
    value = other;
  }
  return value;
}

int Scene::depthOf(int box) const {
  int depth = 0;
  for (int frame = layout->boxes[static_cast<size_t>(box)].frame; frame >= 0; ++depth) {
    frame = layout->boxes[static_cast<size_t>(frame)].frame;
  }
  return depth;
}

QRectF Scene::badgeRect(const layout::Box& box) const {
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
  for (auto i = found.rbegin(); i != found.rend(); ++i) {
    const layout::Box& box = layout->boxes[static_cast<size_t>(*i)];
    const QRectF badge = badgeRect(box);
    if (!badge.isEmpty() && badge.adjusted(-3, -3, 3, 3).contains(world)) return {*i, -1, true};
    if (!box.rect.contains(world)) continue;
    if (box.kind != BoxKind::Frame) return {*i, -1, false};
    if (frame < 0) frame = *i;
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
  if (item < 0 || layout == nullptr || static_cast<size_t>(item) >= layout->boxOfItem.size()) return std::nullopt;
  const int box = layout->shownBox(*hierarchy, item);
  if (box < 0) return std::nullopt;
  const QRectF rect = layout->boxes[static_cast<size_t>(box)].rect;
  for (const layout::Edge& edge : layout->edges) {
    const QPointF end = layout->points[static_cast<size_t>(edge.firstPoint + edge.pointCount - 1)];
    const bool down = layout->direction == layout::Direction::Down;
    const double off = down ? end.y() - rect.top() : end.x() - rect.left();
    if (edge.stream && std::abs(off) < 1.5 && rect.adjusted(-2, -2, 2, 2).contains(end)) return end;
  }
  return layout->direction == layout::Direction::Down ? QPointF(rect.center().x(), rect.top())
                                                      : QPointF(rect.left(), rect.center().y());
}

}  // namespace normlens::graphview
