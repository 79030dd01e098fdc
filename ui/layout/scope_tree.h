// The raw tree of modules and ops that a document's scopes spell out; the first step of buildHierarchy().
#pragma once

#include <vector>

#include "core/protocol/messages.h"
#include "ui/layout/hierarchy.h"
#include "ui/layout/visible_edges.h"

namespace normlens::layout {

struct ScopeTree {
  std::vector<Item> items;      // 0 is the model
  std::vector<int> itemOfNode;  // by node index; kNone when hidden
};

// Siblings that feed each other in a circle (a module called at several places) are split into one group per call.
[[nodiscard]] ScopeTree buildScopeTree(const protocol::GraphDocument& document, const VisibleEdges& visible);

}  // namespace normlens::layout
