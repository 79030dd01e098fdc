// Which nodes of a document are drawn, and the data edges between them.
#pragma once

#include <vector>

#include "core/protocol/messages.h"

namespace normlens::layout {

// By index into document.nodes and document.values.
struct NodeEdge {
  int from = -1, to = -1, value = -1;
  bool stream = false;
};

struct VisibleEdges {
  std::vector<bool> shown;      // by node index
  std::vector<NodeEdge> edges;  // producer -> consumer, no duplicates, execution order of the consumers
};

// index of each id in a vector of things with an `id`; -1 where there is none.
template <class T>
[[nodiscard]] std::vector<int> indexById(const std::vector<T>& things) {
  std::vector<int> index;
  for (size_t i = 0; i < things.size(); ++i) {
    if (things[i].id < 0) continue;
    const auto id = static_cast<size_t>(things[i].id);
    if (id >= index.size()) index.resize(id + 1, -1);
    index[id] = static_cast<int>(i);
  }
  return index;
}

[[nodiscard]] VisibleEdges visibleEdges(const protocol::GraphDocument& document, const std::vector<int>& valueOfId,
                                        bool showHelpers);

}  // namespace normlens::layout
