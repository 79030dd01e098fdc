#include "ui/layout/layers/layered_layout.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <queue>
#include <utility>

#include "ui/layout/layers/layers.h"
#include "ui/layout/routing.h"

namespace normlens::layout {
namespace {

constexpr int kPlaceSweeps = 9;  // odd: the last one goes down, and the stream is straight from the top
constexpr double kPassGap = 10;  // between edges that pass side by side
constexpr double kLaneGap = 24, kLanePitch = 10;
constexpr int kMaxLanes = 60;  // more share one
constexpr double kCorner = 6;
constexpr double kLaneEntry = 9;  // from a row to the horizontal pieces above and below it
constexpr double kLoose = 1e-3;   // weight of a cell that hangs on nothing

class LayeredLayout {
 public:
  explicit LayeredLayout(const DotGraph& graph) : graph_(graph), layers_(makeLayers(graph)) {}

  DotDrawing run() {
    placeAcross();
    placeDown();
    findLanes();
    for (size_t i = 0; i < graph_.edges.size(); ++i) {
      if (!graph_.edges[i].hasCurve()) {
        drawing_.curves.emplace_back();
      } else {
        drawing_.curves.push_back(layers_.inLane[i] ? laneCurve(graph_.edges[i]) : throughCurve(i));
      }
    }
    moveToOrigin();
    return std::move(drawing_);
  }

 private:
  [[nodiscard]] bool isBox(int cell) const { return static_cast<size_t>(cell) < graph_.boxes.size(); }
  [[nodiscard]] int rankOf(int cell) const { return layers_.rank[static_cast<size_t>(cell)]; }
  [[nodiscard]] double rowTop(int rank) const { return top_[static_cast<size_t>(rank)]; }
  [[nodiscard]] double rowBottom(int rank) const { return bottom_[static_cast<size_t>(rank)]; }

  [[nodiscard]] double apart(int left, int right) const {
    const double gap = isBox(left) && isBox(right)   ? graph_.nodeGap
                       : isBox(left) || isBox(right) ? graph_.nodeGap / 2
                                                     : kPassGap;
    return (layers_.width[static_cast<size_t>(left)] + layers_.width[static_cast<size_t>(right)]) / 2 + gap;
  }

  void placeAcross() {
    x_.assign(layers_.rank.size(), 0);
    for (const auto& row : layers_.rows) {
      for (size_t i = 1; i < row.size(); ++i)
        x_[static_cast<size_t>(row[i])] = x_[static_cast<size_t>(row[i - 1])] + apart(row[i - 1], row[i]);
    }
    const Buckets above = layers_.linksBy(&Link::lower), below = layers_.linksBy(&Link::upper);
    for (int sweep = 0; sweep < kPlaceSweeps; ++sweep) {
      const bool down = sweep % 2 == 0;
      const size_t count = layers_.rows.size();
      for (size_t i = 0; i < count; ++i) placeRow(layers_.rows[down ? i : count - 1 - i], down ? above : below, down);
    }
  }

  // The places nearest to where the cells would like to be that keep their order and distances: neighbors that are in
  // each other's way become one block, at the mean of their wishes (pool adjacent violators).
  void placeRow(const std::vector<int>& row, const Buckets& links, bool down) {
    struct Block {
      double place = 0, weight = 0;
      size_t end = 0;
    };
    std::vector<Block> blocks;
    std::vector<double> offset(row.size(), 0);
    for (size_t i = 0; i < row.size(); ++i) {
      if (i > 0) offset[i] = offset[i - 1] + apart(row[i - 1], row[i]);
      double sum = 0, weight = 0;
      for (const int l : links.of(static_cast<size_t>(row[i]))) {
        const Link& link = layers_.links[static_cast<size_t>(l)];
        const double wish = x_[static_cast<size_t>(down ? link.upper : link.lower)] +
                            (down ? link.upperShift - link.lowerShift : link.lowerShift - link.upperShift);
        sum += wish * link.weight;
        weight += link.weight;
      }
      const double wish = weight > 0 ? sum / weight : x_[static_cast<size_t>(row[i])];
      blocks.push_back({wish - offset[i], std::max(weight, kLoose), i + 1});
      while (blocks.size() > 1 && blocks.back().place < blocks[blocks.size() - 2].place) {
        const Block last = blocks.back();
        blocks.pop_back();
        Block& block = blocks.back();
        block.place = (block.place * block.weight + last.place * last.weight) / (block.weight + last.weight);
        block.weight += last.weight;
        block.end = last.end;
      }
    }
    size_t i = 0;
    for (const Block& block : blocks) {
      for (; i < block.end; ++i) x_[static_cast<size_t>(row[i])] = block.place + offset[i];
    }
  }

  void placeDown() {
    double y = 0;
    for (const auto& row : layers_.rows) {
      double height = 0;
      for (const int cell : row)
        height = std::max(height, isBox(cell) ? graph_.boxes[static_cast<size_t>(cell)].height : 0);
      top_.push_back(y);
      bottom_.push_back(y + height);
      y += height + graph_.rankGap;
    }
    for (size_t i = 0; i < graph_.boxes.size(); ++i) {
      const DotBox& box = graph_.boxes[i];
      const double middle = (rowTop(layers_.rank[i]) + rowBottom(layers_.rank[i])) / 2;
      drawing_.boxes.emplace_back(x_[i] - box.width / 2, middle - box.height / 2, box.width, box.height);
      right_ = std::max(right_, drawing_.boxes.back().right());
    }
    lastBox_.assign(layers_.rows.size(), -1);
    for (size_t rank = 0; rank < layers_.rows.size(); ++rank) {
      for (const int cell : layers_.rows[rank]) {
        if (isBox(cell)) lastBox_[rank] = cell;
      }
    }
    for (const double x : x_) right_ = std::max(right_, x);
  }

  // A lane for each place that edges without a way through leave from; lanes that are not used at the same height are
  // one.
  void findLanes() {
    std::map<std::pair<int, int>, std::pair<int, int>> extents;  // by box and port: first and last rank
    for (size_t i = 0; i < graph_.edges.size(); ++i) {
      const DotEdge& edge = graph_.edges[i];
      if (!layers_.inLane[i]) continue;
      const auto [low, high] = std::minmax({rankOf(edge.from), rankOf(edge.to)});
      const auto [entry, isNew] = extents.try_emplace({edge.from, edge.fromPort}, low, high);
      if (!isNew) entry->second = {std::min(entry->second.first, low), std::max(entry->second.second, high)};
    }
    std::vector<std::pair<std::pair<int, int>, std::pair<int, int>>> sorted;  // extent, place
    for (const auto& [place, extent] : extents) sorted.emplace_back(extent, place);
    std::ranges::sort(sorted);
    using Used = std::pair<int, int>;  // until that rank, lane
    std::priority_queue<Used, std::vector<Used>, std::greater<>> used;
    std::priority_queue<int, std::vector<int>, std::greater<>> free;
    int lanes = 0;
    for (const auto& [extent, place] : sorted) {
      for (; !used.empty() && used.top().first < extent.first; used.pop()) free.push(used.top().second);
      if (free.empty()) free.push(lanes++ % kMaxLanes);
      lanes_[place] = free.top();
      used.emplace(extent.second, free.top());
      free.pop();
    }
  }

  // A line that comes down at x can enter the box from its right side: no box is there.
  [[nodiscard]] bool isOpenOnTheRight(const DotEdge& edge, double x) const {
    return edge.toPort < 0 && lastBox_[static_cast<size_t>(rankOf(edge.to))] == edge.to &&
           x > drawing_.boxes[static_cast<size_t>(edge.to)].right() + 2 * kCorner;
  }

  // Straight through each rank, bent between two. The top of a box on the stream is the stream's.
  [[nodiscard]] std::vector<QPointF> throughCurve(size_t index) const {
    const DotEdge& edge = graph_.edges[index];
    const double x = tailX(edge, graph_, drawing_), end = headX(edge, graph_, drawing_);
    std::vector<QPointF> points{{x, drawing_.boxes[static_cast<size_t>(edge.from)].bottom()}};
    fall(points, rowBottom(rankOf(edge.from)));
    for (const int cell : layers_.passes[index]) {
      bend(points, {x_[static_cast<size_t>(cell)], rowTop(rankOf(cell))});
      fall(points, rowBottom(rankOf(cell)));
    }
    const QRectF& head = drawing_.boxes[static_cast<size_t>(edge.to)];
    const double above = points.back().x();
    if (!edge.stream && graph_.boxes[static_cast<size_t>(edge.to)].stream && isOpenOnTheRight(edge, above)) {
      fall(points, head.center().y() - kCorner);
      turnIntoSide(points, head.right(), head.center().y());
      return points;
    }
    bend(points, {end, rowTop(rankOf(edge.to))});
    fall(points, head.top());
    return points;
  }

  static void turnIntoSide(std::vector<QPointF>& points, double side, double y) {
    RoundedPath path(points.back());
    path.cornerTo({points.back().x(), y}, {points.back().x() - kCorner, y});
    path.lineTo({side, y});
    const std::vector<QPointF> turn = path.take();
    points.insert(points.end(), turn.begin() + 1, turn.end());
  }

  static void bend(std::vector<QPointF>& points, QPointF end) {
    const QPointF start = points.back();
    if (std::abs(start.x() - end.x()) < 0.5) return fall(points, end.y());
    const double middle = (start.y() + end.y()) / 2;
    points.insert(points.end(), {{start.x(), middle}, {end.x(), middle}, end});
  }

  // Leads the curve straight down to y; a last piece that ran straight down is made longer.
  static void fall(std::vector<QPointF>& points, double y) {
    if (y <= points.back().y() && points.size() > 1) return;
    const double x = points.back().x();
    if (points.size() >= 4 && points[points.size() - 4].x() == x && points[points.size() - 3].x() == x)
      points.resize(points.size() - 3);
    const double from = points.back().y();
    points.insert(points.end(), {{x, from + (y - from) / 3}, {x, from + (y - from) * 2 / 3}, {x, y}});
  }

  // Out under its rank, along its lane, in beside its reader or above the reader's rank.
  [[nodiscard]] std::vector<QPointF> laneCurve(const DotEdge& edge) const {
    const int lane = lanes_.at({edge.from, edge.fromPort});
    const double x = right_ + kLaneGap + kLanePitch * lane, apart = 2.0 * (lane % 5) - 4;
    const double from = tailX(edge, graph_, drawing_), to = headX(edge, graph_, drawing_);
    const double out = rowBottom(rankOf(edge.from)) + kLaneEntry + apart;
    const QRectF& head = drawing_.boxes[static_cast<size_t>(edge.to)];
    const bool beside = isOpenOnTheRight(edge, x) && layers_.rank[static_cast<size_t>(edge.to)] > rankOf(edge.from);
    const double reach = std::max(0.0, head.height() / 2 - 5);
    const double in = beside ? head.center().y() + std::clamp(2 * apart, -reach, reach)
                             : rowTop(rankOf(edge.to)) - kLaneEntry - apart;
    const double turn = in >= out ? kCorner : -kCorner, room = std::min(std::abs(turn), std::abs(in - out) / 2);
    const double bent = std::copysign(room, turn);
    RoundedPath path({from, drawing_.boxes[static_cast<size_t>(edge.from)].bottom()});
    path.lineTo({from, out - kCorner / 2});
    path.cornerTo({from, out}, {from + kCorner, out});
    path.lineTo({x - kCorner, out});
    path.cornerTo({x, out}, {x, out + bent});
    path.lineTo({x, in - bent});
    path.cornerTo({x, in}, {x - kCorner, in});
    if (beside) {
      path.lineTo({head.right(), in});
      return path.take();
    }
    path.lineTo({to + kCorner, in});
    path.cornerTo({to, in}, {to, in + kCorner / 2});
    path.lineTo({to, head.top()});
    return path.take();
  }

  void moveToOrigin() {
    double left = 0, top = 0, right = 0, bottom = 0;
    const auto include = [&](const QPointF& p) {
      left = std::min(left, p.x()), right = std::max(right, p.x());
      top = std::min(top, p.y()), bottom = std::max(bottom, p.y());
    };
    for (const QRectF& box : drawing_.boxes) include(box.topLeft()), include(box.bottomRight());
    for (const auto& curve : drawing_.curves) std::ranges::for_each(curve, include);
    for (QRectF& box : drawing_.boxes) box.translate(-left, -top);
    for (auto& curve : drawing_.curves) {
      for (QPointF& p : curve) p -= QPointF(left, top);
    }
    drawing_.bounds = {0, 0, right - left, bottom - top};
  }

  const DotGraph& graph_;
  const Layers layers_;
  DotDrawing drawing_;
  std::vector<double> x_;                     // by cell: its middle
  std::vector<double> top_, bottom_;          // by rank
  std::vector<int> lastBox_;                  // by rank: the one furthest to the right
  double right_ = 0;                          // Bounds all boxes and passes.
  std::map<std::pair<int, int>, int> lanes_;  // by box and port that the edges leave from
};

}  // namespace

DotDrawing layOutInLayers(const DotGraph& graph) {
  if (graph.boxes.empty()) return {};
  return LayeredLayout(graph).run();
}

}  // namespace normlens::layout
