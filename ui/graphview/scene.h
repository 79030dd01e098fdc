// A layout made ready for painting and hit tests: flattened edges and a grid index.
#pragma once

#include <QPointF>
#include <QRectF>
#include <QString>
#include <memory>
#include <optional>
#include <ranges>
#include <span>
#include <vector>

#include "ui/layout/buckets.h"
#include "ui/layout/layout.h"

namespace normlens::graphview {

// Uniform grid over rectangles. Query results are unique and ascending.
class GridIndex {
 public:
  static constexpr double kCell = 400;
  static constexpr int kMaxCellsPerRect = 64;  // a rectangle over more cells is tested on every query instead

  void build(const QRectF& bounds, const std::vector<QRectF>& rects);
  void query(const QRectF& area, std::vector<int>& found) const;

 private:
  struct Range {
    int left, top, right, bottom;
  };
  [[nodiscard]] Range cellsOf(const QRectF& area) const;
  [[nodiscard]] size_t cell(int x, int y) const {
    return static_cast<size_t>(y) * static_cast<size_t>(columns_) + static_cast<size_t>(x);
  }

  QRectF all_;  // around every rectangle
  QPointF origin_;
  int columns_ = 0, rows_ = 0;
  layout::Buckets cells_;  // rectangles, row by row
  std::vector<int> large_;
  std::vector<QRectF> rects_;
};

struct Hit {
  int box = -1;          // into Layout::boxes
  int edge = -1;         // into Layout::edges
  bool onBadge = false;  // the + or - of a group
  friend bool operator==(const Hit&, const Hit&) = default;
};

struct Scene {
  std::shared_ptr<const layout::Hierarchy> hierarchy;
  std::shared_ptr<const layout::Layout> layout;
  std::vector<QPointF> flat;   // polylines of all edges
  std::vector<int> flatStart;  // by edge; one more at the end
  GridIndex boxIndex, edgeIndex;
  std::vector<QString> titles;  // by box, made once

  Scene() = default;
  Scene(std::shared_ptr<const layout::Hierarchy> h, std::shared_ptr<const layout::Layout> l);

  [[nodiscard]] bool empty() const { return layout == nullptr || layout->boxes.empty(); }
  [[nodiscard]] const layout::Item& itemOf(const layout::Box& box) const { return hierarchy->item(box.item); }
  [[nodiscard]] const layout::Box& box(int index) const { return layout->boxes[static_cast<size_t>(index)]; }
  [[nodiscard]] const layout::Edge& edge(int index) const { return layout->edges[static_cast<size_t>(index)]; }
  // The box that shows an item; -1 for no item, and while nothing is laid out.
  [[nodiscard]] int boxOf(int item) const { return layout == nullptr ? -1 : layout->shownBox(*hierarchy, item); }
  // The data edges that run through an edge piece.
  [[nodiscard]] auto dataOf(int index) const {
    const layout::Edge& piece = edge(index);
    const std::span all(layout->edgeData);
    return all.subspan(static_cast<size_t>(piece.firstData), static_cast<size_t>(piece.dataCount)) |
           std::views::transform(
               [this](int data) -> const layout::DataEdge& { return hierarchy->edges[static_cast<size_t>(data)]; });
  }
  [[nodiscard]] bool runsDown() const { return layout->direction == layout::Direction::Down; }
  // These return the points at which an edge piece begins and ends.
  [[nodiscard]] QPointF startOf(const layout::Edge& piece) const {
    return layout->points[static_cast<size_t>(piece.firstPoint)];
  }
  [[nodiscard]] QPointF endOf(const layout::Edge& piece) const {
    return layout->points[static_cast<size_t>(piece.firstPoint + piece.pointCount - 1)];
  }
  [[nodiscard]] std::span<const QPointF> polyline(int edge) const;
  // Returns the value that an edge piece carries: index into document.values, or -1 (several, or a bridge).
  [[nodiscard]] int valueOfEdge(int index) const;

  // Counts the open groups around a box.
  [[nodiscard]] int depthOf(int box) const;

  // world: the point; slack: how far from an edge still counts, in world units.
  [[nodiscard]] Hit hitTest(const QPointF& world, double slack) const;
  // Returns the end of the stream that enters an item, else the middle of the side at which data enters.
  [[nodiscard]] std::optional<QPointF> hangingPoint(int item) const;
  // Returns the area of the + or - of a group; empty for other boxes.
  [[nodiscard]] static QRectF badgeRect(const layout::Box& box);
};

}  // namespace normlens::graphview
