// Compares two graphs: an original and what it was folded to, or any two models.
//
// Nodes belong together that have the same name in the same module; among those of one name, the same operators in the
// order in which they run. What is then left on both sides was replaced, by what is named most like it. Nodes that read
// other weights have changed, where weights are given.
#pragma once

#include <string>
#include <unordered_map>
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

// By value id, a text that identifies the weight; values that are missing are not compared.
using WeightTexts = std::unordered_map<int, std::string>;

[[nodiscard]] GraphDiff compareGraphs(const protocol::GraphDocument& a, const protocol::GraphDocument& b,
                                      const WeightTexts& weightsOfA = {}, const WeightTexts& weightsOfB = {});

}  // namespace normlens::graphview
