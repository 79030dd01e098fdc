#include "ui/layout/stream_routes.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <utility>

#include "ui/layout/rounded_path.h"

namespace normlens::layout {
namespace {

constexpr double kCorner = 10;
constexpr double kClearance = 4;     // to boxes that a line passes
constexpr double kEntryHeight = 15;  // of the horizontal piece above a group

struct StreamLine {
  double x = 0, top = 0, bottom = 0;
};

class Router {
 public:
  Router(const DotGraph& graph, const std::vector<EntrySide>& entries, DotDrawing& drawing)
      : graph_(graph), entries_(entries), drawing_(drawing) {}

  void run() {
    for (size_t i = 0; i < graph_.edges.size(); ++i) noteStream(i);
    for (size_t i = 0; i < graph_.edges.size(); ++i) {
      const DotEdge& edge = graph_.edges[i];
      if (edge.stream || edge.guide || edge.order || edge.routed || edge.from == edge.to) continue;
      std::optional<std::vector<QPointF>> route = branch(edge);
      if (!route) route = merge(edge);
      if (!route) route = drop(edge);
      if (route) drawing_.curves[i] = std::move(*route);
    }
  }

 private:
  const QRectF& rect(int box) const { return drawing_.boxes[static_cast<size_t>(box)]; }

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
    onStream_[edge.to] = true;
  }

  bool isFree(const QRectF& line, const DotEdge& edge) const {
    const QRectF area = line.normalized().adjusted(-kClearance, -kClearance, kClearance, kClearance);
    for (size_t i = 0; i < drawing_.boxes.size(); ++i) {
      if (static_cast<int>(i) == edge.from || static_cast<int>(i) == edge.to) continue;
      if (drawing_.boxes[i].width() > 2 && area.intersects(drawing_.boxes[i])) return false;
    }
    return true;
  }

  bool horizontalFree(double x1, double x2, double y, const DotEdge& edge) const {
    const double inset = x2 > x1 ? kClearance + 2 : -kClearance - 2;  // the stream itself is no obstacle
    return isFree(QRectF(QPointF(x1 + inset, y), QPointF(x2, y)), edge);
  }

  std::optional<std::vector<QPointF>> branch(const DotEdge& edge) const {
    const auto found = lines_.find({edge.from, edge.fromPort});
    if (found == lines_.end()) return std::nullopt;
    const StreamLine& line = found->second;
    const QRectF& head = rect(edge.to);
    return entries_[static_cast<size_t>(edge.to)] == EntrySide::Side ? branchIntoSide(edge, line, head)
                                                                     : branchIntoTop(edge, line, head);
  }

  std::optional<std::vector<QPointF>> branchIntoSide(const DotEdge& edge, const StreamLine& line,
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

  std::optional<std::vector<QPointF>> branchIntoTop(const DotEdge& edge, const StreamLine& line,
                                                    const QRectF& head) const {
    const std::vector<double>& ports = graph_.boxes[static_cast<size_t>(edge.to)].topPorts;
    const double x = edge.toPort >= 0 ? head.left() + ports[static_cast<size_t>(edge.toPort)] : head.center().x();
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

  std::optional<std::vector<QPointF>> merge(const DotEdge& edge) const {
    if (edge.toPort >= 0 || !joinsHere(edge.to)) return std::nullopt;
    if (entries_[static_cast<size_t>(edge.to)] == EntrySide::Top) return std::nullopt;
    const QRectF &tail = rect(edge.from), &head = rect(edge.to);
    const std::vector<double>& ports = graph_.boxes[static_cast<size_t>(edge.from)].bottomPorts;
    const double x = edge.fromPort >= 0 ? tail.left() + ports[static_cast<size_t>(edge.fromPort)] : tail.center().x();
    const double y = head.center().y();
    if (y < tail.bottom() + 8 || std::abs(x - head.center().x()) < head.width() / 2 + 14) return std::nullopt;
    const double side = x > head.center().x() ? head.right() : head.left();
    const double corner = std::min(kCorner, y - tail.bottom());
    if (!isFree(QRectF(QPointF(x, tail.bottom()), QPointF(x, y)), edge)) return std::nullopt;
    if (!isFree(QRectF(QPointF(x, y), QPointF(side, y)), edge)) return std::nullopt;
    RoundedPath path({x, tail.bottom()});
    path.lineTo({x, y - corner});
    path.cornerTo({x, y}, {x > side ? x - corner : x + corner, y});
    path.lineTo({side, y});
    return path.take();
  }

  // A sum, or another box that the stream enters from above.
  bool joinsHere(int box) const { return onStream_.contains(box) || graph_.boxes[static_cast<size_t>(box)].circle; }

  static double portX(const QRectF& rect, const std::vector<double>& ports, int port) {
    return port >= 0 ? rect.left() + ports[static_cast<size_t>(port)] : rect.center().x();
  }

  // Where one end is fixed (a port, or the middle of an op) and the other end is wide enough: straight down.
  std::optional<std::vector<QPointF>> drop(const DotEdge& edge) const {
    constexpr double kInset = 14;
    const QRectF &tail = rect(edge.from), &head = rect(edge.to);
    if (head.top() - tail.bottom() < 4) return std::nullopt;
    const double fromX = portX(tail, graph_.boxes[static_cast<size_t>(edge.from)].bottomPorts, edge.fromPort);
    const double toX = portX(head, graph_.boxes[static_cast<size_t>(edge.to)].topPorts, edge.toPort);
    const bool wideTail = edge.fromPort < 0 && entries_[static_cast<size_t>(edge.from)] == EntrySide::Top;
    const bool wideHead = edge.toPort < 0 && entries_[static_cast<size_t>(edge.to)] == EntrySide::Top;
    const auto within = [](double x, const QRectF& r) { return x > r.left() + kInset && x < r.right() - kInset; };
    double x = 0;
    if (wideTail && !wideHead && within(toX, tail))
      x = toX;
    else if (wideHead && !wideTail && within(fromX, head))
      x = fromX;
    else if (edge.toPort >= 0 && edge.fromPort < 0 && within(toX, tail))
      x = toX;
    else if (edge.fromPort >= 0 && edge.toPort < 0 && within(fromX, head))
      x = fromX;
    else
      return std::nullopt;
    if (!isFree(QRectF(QPointF(x, tail.bottom()), QPointF(x, head.top())), edge)) return std::nullopt;
    RoundedPath path({x, tail.bottom()});
    path.lineTo({x, head.top()});
    return path.take();
  }

  const DotGraph& graph_;
  const std::vector<EntrySide>& entries_;
  DotDrawing& drawing_;
  std::map<std::pair<int, int>, StreamLine> lines_;  // by box and port that a stream edge leaves from
  std::map<int, bool> onStream_;                     // boxes that a straight stream edge enters
};

}  // namespace

void routeAlongStream(const DotGraph& graph, const std::vector<EntrySide>& entries, DotDrawing& drawing) {
  Router(graph, entries, drawing).run();
}

}  // namespace normlens::layout
