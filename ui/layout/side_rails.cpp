#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <utility>

#include "ui/layout/routing.h"

namespace normlens::layout {
namespace {

constexpr int kMinRows = 3;    // fewer readers, or readers side by side, are drawn well enough by dot
constexpr double kGap = 24;    // from the boxes to the first rail
constexpr double kPitch = 12;  // from rail to rail
constexpr double kRailCorner = 9;
constexpr double kRailClearance = 3;

int rowsOf(const std::vector<int>& edges, const DotGraph& graph, const DotDrawing& drawing) {
  std::vector<std::pair<double, double>> spans;
  for (const int e : edges) {
    const QRectF& rect = drawing.boxes[static_cast<size_t>(graph.edges[static_cast<size_t>(e)].to)];
    spans.emplace_back(rect.top(), rect.bottom());
  }
  std::sort(spans.begin(), spans.end());
  int rows = 0;
  double end = -1e300;
  for (const auto& [top, bottom] : spans) {
    if (top >= end) ++rows, end = bottom;
  }
  return rows;
}

class RailDrawer {
 public:
  RailDrawer(const DotGraph& graph, const std::vector<bool>& movable, DotDrawing& drawing)
      : graph_(graph), movable_(movable), drawing_(drawing) {
    for (const QRectF& box : drawing.boxes) right_ = std::max(right_, box.right());
    for (size_t i = 0; i < graph.edges.size(); ++i) {
      if (!graph.edges[i].hasCurve()) continue;
      for (const QPointF& p : drawing.curves[i]) right_ = std::max(right_, p.x());
    }
  }

  std::vector<int> draw(const std::vector<std::vector<int>>& rails) {
    std::vector<int> failed;
    for (size_t k = 0; k < rails.size(); ++k) {
      const double x = std::round(right_ + kGap + kPitch * static_cast<double>(k));
      const double spread = (static_cast<double>(k) - static_cast<double>(rails.size() - 1) / 2) * 8;
      for (const int edge : rails[k]) {
        std::optional<std::vector<QPointF>> curve = route(graph_.edges[static_cast<size_t>(edge)], x, spread);
        if (curve) {
          drawing_.curves[static_cast<size_t>(edge)] = std::move(*curve);
        } else {
          failed.push_back(edge);
        }
      }
    }
    return failed;
  }

 private:
  QRectF& rect(int box) { return drawing_.boxes[static_cast<size_t>(box)]; }

  // True when no box is in the way from x1 to x2 at y.
  [[nodiscard]] bool isLevelFree(double x1, double x2, double y, const DotEdge& edge) const {
    return isFree(QRectF(QPointF(x1, y), QPointF(x2, y)), edge, drawing_, kRailClearance);
  }

  // Leads from the source down to the rail; empty when something is in between.
  std::optional<RoundedPath> descend(const DotEdge& edge, double x) {
    QRectF& source = rect(edge.from);
    if (movable_[static_cast<size_t>(edge.from)]) {
      source.moveCenter({x, source.center().y()});
      return RoundedPath(source.center());
    }
    const double from = tailX(edge, graph_, drawing_);
    const double y = source.bottom() + kEntryHeight;
    if (!isLevelFree(from, x, y, edge)) return std::nullopt;
    RoundedPath path({from, source.bottom()});
    path.lineTo({from, y - kRailCorner});
    path.cornerTo({from, y}, {from + kRailCorner, y});
    path.lineTo({x - kRailCorner, y});
    path.cornerTo({x, y}, {x, y + kRailCorner});
    return path;
  }

  std::optional<std::vector<QPointF>> route(const DotEdge& edge, double x, double spread) {
    const QRectF head = rect(edge.to);
    const double sourceEnd =
        rect(edge.from).bottom() + (movable_[static_cast<size_t>(edge.from)] ? 0 : kEntryHeight + kRailCorner);
    const bool throughTop = edge.toPort >= 0;
    const double room = std::max(0.0, head.height() / 2 - 5);
    const double y =
        throughTop ? head.top() - kEntryHeight + spread / 2 : head.center().y() + std::clamp(spread, -room, room);
    if (y - kRailCorner < sourceEnd) return std::nullopt;
    std::optional<RoundedPath> path = descend(edge, x);
    if (!path) return std::nullopt;
    path->lineTo({x, y - kRailCorner});
    path->cornerTo({x, y}, {x - kRailCorner, y});
    if (!throughTop) {
      if (!isLevelFree(x, head.right(), y, edge)) return std::nullopt;
      path->lineTo({head.right(), y});
      return path->take();
    }
    const double port = headX(edge, graph_, drawing_);
    if (x - port < 2 * kRailCorner || !isLevelFree(x, port, y, edge)) return std::nullopt;
    path->lineTo({port + kRailCorner, y});
    path->cornerTo({port, y}, {port, y + std::min(kRailCorner, head.top() - y)});
    path->lineTo({port, head.top()});
    return path->take();
  }

  const DotGraph& graph_;
  const std::vector<bool>& movable_;
  DotDrawing& drawing_;
  double right_ = 0;
};

}  // namespace

std::vector<std::vector<int>> findRails(const DotGraph& graph, const DotDrawing& drawing) {
  std::map<std::pair<int, double>, std::vector<int>> leaving;  // by box and where on its border
  for (size_t i = 0; i < graph.edges.size(); ++i) {
    const DotEdge& edge = graph.edges[i];
    const bool branch = graph.boxes[static_cast<size_t>(edge.from)].stream && edge.fromPort < 0;
    if (!edge.stream && !edge.guide && !edge.order && !branch)
      leaving[{edge.from, edge.fromPort < 0 ? -1 : tailX(edge, graph, drawing)}].push_back(static_cast<int>(i));
  }
  std::vector<std::vector<int>> rails;
  for (const auto& [source, edges] : leaving) {
    if (static_cast<int>(edges.size()) >= kMinRows && rowsOf(edges, graph, drawing) >= kMinRows) rails.push_back(edges);
  }
  constexpr size_t kMaxRails = 6;
  return rails.size() > kMaxRails ? std::vector<std::vector<int>>() : rails;
}

std::vector<int> drawRails(const DotGraph& graph, const std::vector<std::vector<int>>& rails,
                           const std::vector<bool>& movable, DotDrawing& drawing) {
  return RailDrawer(graph, movable, drawing).draw(rails);
}

}  // namespace normlens::layout
