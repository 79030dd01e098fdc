// Lists the differences between two graphs: the marks of a GraphDiff in the order in which nodes run, weight by
// weight. The differences between two plans of one graph are the edits that only one of them makes.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/protocol/messages.h"
#include "ui/graphview/compare/graph_diff.h"

namespace normlens::graphview {

// Two weights that take the same place, as value ids; -1: the other node has no such weight.
struct WeightPair {
  int a = -1, b = -1;
  bool same = false;
  bool through = false;  // the other node reads it through ops that only its graph has

  bool operator==(const WeightPair&) const = default;
};

struct Change {
  enum class Kind : uint8_t {
    RmsNorm,   // a LayerNorm, or what was one, is an RMSNorm
    Operator,  // any other one in its place
    Weight,    // the same operator reads another weight
    Added,     // only in b
    Removed,   // only in a
  };
  Kind kind = Kind::Weight;
  int a = -1, b = -1;               // places in GraphDocument::nodes; -1 on the side that has nothing of the kind
  std::vector<WeightPair> weights;  // Weight: that one; else all that the two nodes read
  std::optional<protocol::EditInfo> edit = {};  // of one of two plans: Removed, the left one's; Added, the right one's
};

// diff: of a and b. A weight that several nodes read is listed once, at the first. What only b has follows what comes
// before it in both. While the weights of a side have not been read, no weights are listed.
[[nodiscard]] std::vector<Change> changesOf(const protocol::GraphDocument& a, const protocol::GraphDocument& b,
                                            const GraphDiff& diff, const WeightTexts& weightsOfA,
                                            const WeightTexts& weightsOfB);

// Returns the edits that only one of two plans of the graph makes, in the order in which their nodes run.
[[nodiscard]] std::vector<Change> editsOfOne(const protocol::GraphDocument& graph, const protocol::PlanInfo& a,
                                             const protocol::PlanInfo& b);
// Marks the nodes of those edits in a graph that is compared with itself.
[[nodiscard]] GraphDiff diffOf(const protocol::GraphDocument& graph, const std::vector<Change>& edits);

}  // namespace normlens::graphview
