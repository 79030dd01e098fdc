// Lists all that is drawn for a set of open groups: per open group its boxes, its ports and the edges between them.
//
// An edge from an op deep in one group to an op deep in another is cut at every border it crosses. The cut is a port:
// one per group and value (all values but the stream share a port where there would be too many), so edges that carry
// the same value into a group enter it once and fan out inside. Parallel edges between the same two places are one.
#pragma once

#include <compare>
#include <unordered_map>
#include <vector>

#include "ui/layout/hierarchy.h"

namespace normlens::layout {

enum class EndpointKind : uint8_t { Box, In, Out };  // a child box, a port on the group's own top border, bottom border

struct Endpoint {
  EndpointKind kind = EndpointKind::Box;
  int box = kNone;   // index into LocalGraph::boxes
  int port = kNone;  // An open child box has it, or the group itself.
  friend auto operator<=>(const Endpoint&, const Endpoint&) = default;
};

struct LocalEdge {
  Endpoint from, to;
  bool stream = false;
  bool bridge = false;    // no value of its own: replaces hidden helpers
  std::vector<int> data;  // indices into Hierarchy::edges
};

struct LocalGraph {
  int group = kNone;                    // item
  std::vector<int> boxes;               // items, execution order
  std::vector<bool> inPorts, outPorts;  // by port: whether the stream runs through it
  std::vector<LocalEdge> edges;
};

struct VisibleGraph {
  std::vector<LocalGraph> groups;             // open groups, parents before children; 0 is the model
  std::unordered_map<int, int> indexOfGroup;  // item -> groups
};

// A group is shown open when it is in `expanded` and so are all groups above it. The model always is.
[[nodiscard]] VisibleGraph visibleGraph(const Hierarchy& hierarchy, const GroupSet& expanded);

}  // namespace normlens::layout
