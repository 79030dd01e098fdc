// Compares two graphs: an original and what it was folded to, or any two models.
//
// Nodes belong together that have the same name in the same module; among those of one name, the same operators in the
// order in which they run. What is then left on both sides was replaced, by what is named most like it. Nodes that read
// other weights have changed, where weights are given.
//
// Two formats of one model have hardly a name in common. There, nodes of one module that do the same belong together if
// they read what belongs together, else in the order in which they run; they are the same where their weights have the
// same contents, transposed or not. What one format does not write (a dropout, a bias of its own, the second of two
// transposes) belongs to the node of which it is a part there.
#pragma once

#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/protocol/messages.h"

namespace normlens::graphview {

enum class NodeMark : unsigned char { Same, Changed, Only };  // Only: the other graph has nothing of the kind

// By place in GraphDocument::nodes.
struct GraphDiff {
  struct Side {
    std::vector<NodeMark> marks;
    std::vector<int> partners;  // places in the other graph; -1
  };
  Side a, b;
};

// By value id, a text that identifies the weight; of a matrix two, its own and that of its transpose: "b71c|09fe".
// Values that are missing are not compared.
using WeightTexts = std::unordered_map<int, std::string>;

[[nodiscard]] GraphDiff compareGraphs(const protocol::GraphDocument& a, const protocol::GraphDocument& b,
                                      const WeightTexts& weightsOfA = {}, const WeightTexts& weightsOfB = {});

// Milliseconds of B's nodes, by id, at the ids of the nodes of A that they belong to. What only B has counts at its
// norm where it is a part of one, else at the node before it.
[[nodiscard]] std::vector<std::pair<int, double>> timesInPlacesOf(const protocol::GraphDocument& a,
                                                                  const protocol::GraphDocument& b,
                                                                  const std::vector<std::pair<int, double>>& timesOfB);

// The other graph with the shapes and streams of the nodes that belong together: only the open model was run. Both are
// then laid out alike.
[[nodiscard]] protocol::GraphDocument withShapesOf(const protocol::GraphDocument& open,
                                                   const protocol::GraphDocument& other, const GraphDiff& diff);

}  // namespace normlens::graphview
