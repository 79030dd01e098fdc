#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "ui/layout/routing.h"

namespace normlens::layout {
namespace {

constexpr double kCorner = 10;
constexpr double kClearance = 4;  // to boxes that a line passes

struct StreamLine {
  double x = 0, top = 0, bottom = 0;
};

class Router {
 public:
  Router(const DotGraph& graph, DotDrawing& drawing) : graph_(graph), drawing_(drawing) {}

  void run() {
    for (size_t i = 0; i < graph_.edges.size(); ++i) noteStream(i);
    for (size_t i = 0; i < graph_.edges.size(); ++i) {
      const DotEdge& edge = graph_.edges[i];
      if (edge.stream || !edge.hasCurve() || edge.from == edge.to) continue;
      std::optional<std::vector<QPointF>> route = branch(edge);
      if (!route) route = merge(edge);
      if (!route) route = drop(edge);
      if (route) drawing_.curves[i] = std::move(*route);
    }
  }

 private:
  [[nodiscard]] const QRectF& rect(int box) const { return drawing_.boxes[static_cast<size_t>(box)]; }
  [[nodiscard]] bool isGroup(int box) const { return graph_.boxes[static_cast<size_t>(box)].group; }

  // Remembers a stream edge that runs straight down; one that is nearly straight is made so.
  void noteStream(size_t index) {
    const DotEdge& edge = graph_.edges[index];
    std::vector<QPointF>& curve = drawing_.curves[index];
    if (!edge.stream) return;
    const double x = curve.front().x();
    const bool straight =
        std::all_of(curve.begin(), curve.end(), [x](const QPointF& p) { return std::abs(p.x() - x) < 2; });
    if (!straight || curve.back().y() <= curve.front().y()) return;
    RoundedPath path(curve.front());
    path.lineTo(curve.back());
    curve = path.take();
    StreamLine& line = lines_[{edge.from, edge.fromPort}];
    if (line.bottom < curve.back().y()) line = {x, curve.front().y(), curve.back().y()};
    onStream_.insert(edge.to);
  }

  [[nodiscard]] bool isFreeBetween(const QPointF& a, const QPointF& b, const DotEdge& edge) const {
    return isFree(QRectF(a, b), edge, drawing_, kClearance);
  }

  [[nodiscard]] bool horizontalFree(double x1, double x2, double y, const DotEdge& edge) const {
    const double inset = x2 > x1 ? kClearance + 2 : -kClearance - 2;  // the stream itself is no obstacle
    return isFreeBetween({x1 + inset, y}, {x2, y}, edge);
  }

  [[nodiscard]] std::optional<std::vector<QPointF>> branch(const DotEdge& edge) const {
    const auto found = lines_.find({edge.from, edge.fromPort});
    if (found == lines_.end()) return std::nullopt;
    const StreamLine& line = found->second;
    const QRectF& head = rect(edge.to);
    return isGroup(edge.to) ? branchIntoTop(edge, line, head) : branchIntoSide(edge, line, head);
  }

  [[nodiscard]] std::optional<std::vector<QPointF>> branchIntoSide(const DotEdge& edge, const StreamLine& line,
                                                                   const QRectF& head) const {
    const double y = head.center().y();
    if (y < line.top + 4 || y > line.bottom - 4) return std::nullopt;
    if (head.left() < line.x + 12 && head.right() > line.x - 12) return std::nullopt;
    const double end = head.left() > line.x ? head.left() : head.right();
    if (!horizontalFree(line.x, end, y, edge)) return std::nullopt;
    RoundedPath path({line.x, y});
    path.lineTo({end, y});
    return path.take();
  }

  [[nodiscard]] std::optional<std::vector<QPointF>> branchIntoTop(const DotEdge& edge, const StreamLine& line,
                                                                  const QRectF& head) const {
    const double x = headX(edge, graph_, drawing_);
    const double y = head.top() - kEntryHeight;
    if (y < line.top + 2 || y > line.bottom - 2 || std::abs(x - line.x) < 2 * kCorner) return std::nullopt;
    if (!horizontalFree(line.x, x, y, edge)) return std::nullopt;
    const double turn = x > line.x ? -kCorner : kCorner;
    RoundedPath path({line.x, y});
    path.lineTo({x + turn, y});
    path.cornerTo({x, y}, {x, y + kCorner});
    path.lineTo({x, head.top()});
    return path.take();
  }

  [[nodiscard]] std::optional<std::vector<QPointF>> merge(const DotEdge& edge) const {
    if (edge.toPort >= 0 || !joinsHere(edge.to) || isGroup(edge.to)) return std::nullopt;
    const QRectF &tail = rect(edge.from), &head = rect(edge.to);
    const double x = tailX(edge, graph_, drawing_);
    const double y = head.center().y();
    if (y < tail.bottom() + 8 || std::abs(x - head.center().x()) < head.width() / 2 + 14) return std::nullopt;
    const double side = x > head.center().x() ? head.right() : head.left();
    const double corner = std::min(kCorner, y - tail.bottom());
    if (!isFreeBetween({x, tail.bottom()}, {x, y}, edge) || !isFreeBetween({x, y}, {side, y}, edge))
      return std::nullopt;
    RoundedPath path({x, tail.bottom()});
    path.lineTo({x, y - corner});
    path.cornerTo({x, y}, {x > side ? x - corner : x + corner, y});
    path.lineTo({side, y});
    return path.take();
  }

  // A sum, or another box that the stream enters from above.
  [[nodiscard]] bool joinsHere(int box) const {
    return onStream_.contains(box) || graph_.boxes[static_cast<size_t>(box)].circle;
  }

  // Goes straight down where one end is fixed (a port, or the middle of an op) and the other is wide enough.
  [[nodiscard]] std::optional<std::vector<QPointF>> drop(const DotEdge& edge) const {
    constexpr double kInset = 14;
    const QRectF &tail = rect(edge.from), &head = rect(edge.to);
    if (head.top() - tail.bottom() < 4) return std::nullopt;
    const double fromX = tailX(edge, graph_, drawing_), toX = headX(edge, graph_, drawing_);
    const bool wideTail = edge.fromPort < 0 && isGroup(edge.from);
    const bool wideHead = edge.toPort < 0 && isGroup(edge.to);
    const auto within = [](double x, const QRectF& r) { return x > r.left() + kInset && x < r.right() - kInset; };
    const bool portAtHead = edge.toPort >= 0 && edge.fromPort < 0, portAtTail = edge.fromPort >= 0 && edge.toPort < 0;
    const bool toHead = ((wideTail && !wideHead) || portAtHead) && within(toX, tail);
    const bool toTail = ((wideHead && !wideTail) || portAtTail) && within(fromX, head);
    if (!toHead && !toTail) return std::nullopt;
    const double x = toHead ? toX : fromX;
    if (!isFreeBetween({x, tail.bottom()}, {x, head.top()}, edge)) return std::nullopt;
    RoundedPath path({x, tail.bottom()});
    path.lineTo({x, head.top()});
    return path.take();
  }

  const DotGraph& graph_;
  DotDrawing& drawing_;
  std::map<std::pair<int, int>, StreamLine> lines_;  // by box and port that a stream edge leaves from
  std::set<int> onStream_;                           // boxes that a straight stream edge enters
};

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

void routeAlongStream(const DotGraph& graph, DotDrawing& drawing) { Router(graph, drawing).run(); }

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
