// Steps of the layered layout up to the order of the cells in a rank.
//
//   rank 0   [ box ]            A cell is a box, or the place where an edge passes a rank between its ends.
//              │  ╲            Long edges without a place are drawn beside everything, in lanes.
//   rank 1   [ box ]  cell
//              │    ╱
//   rank 2   [ box ]
#pragma once

#include <vector>

#include "ui/layout/buckets.h"
#include "ui/layout/dot/dot_graph.h"

namespace normlens::layout {

// The ranks of all boxes, by longest path: an edge goes to a higher rank, unless it closes a circle. The graph's
// sources are on the first rank, its sinks alone on the last.
[[nodiscard]] std::vector<int> findRanks(const DotGraph& graph);

struct Link {
  int upper = 0, lower = 0;               // cells of ranks that follow each other
  double upperShift = 0, lowerShift = 0;  // from the cells' middles to where the edge meets them
  double weight = 1;
};

struct Layers {
  std::vector<int> rank;                 // by cell; boxes first
  std::vector<double> width;             // by cell
  std::vector<bool> stream;              // by cell
  std::vector<std::vector<int>> passes;  // by edge: its cells between its ends
  std::vector<bool> inLane;              // by edge
  std::vector<Link> links;
  std::vector<std::vector<int>> rows;  // by rank: cells from left to right, the stream first

  // The links by the cell at this end of them.
  [[nodiscard]] Buckets linksBy(int Link::*end) const;
};

[[nodiscard]] Layers makeLayers(const DotGraph& graph);

}  // namespace normlens::layout
