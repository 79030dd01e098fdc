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

}  // namespace

void routeAlongStream(const DotGraph& graph, DotDrawing& drawing) { Router(graph, drawing).run(); }

}  // namespace normlens::layout
