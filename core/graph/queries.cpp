#include "core/graph/queries.h"

namespace normlens::graph {

bool sameTypeAndShape(const Graph& graph, ValueId a, ValueId b) {
  const Value& first = graph.value(a);
  const Value& second = graph.value(b);
  return first.shape && first.shape == second.shape && first.dtype == second.dtype;
}

std::optional<Use> onlyReader(const Graph& graph, ValueId value) {
  std::optional<Use> found;
  for (const Use& use : graph.value(value).uses) {
    if (use.node != kNone && graph.node(use.node).kind == OpKind::ShapeQuery) continue;
    if (found) return std::nullopt;
    found = use;
  }
  return found;
}

}  // namespace normlens::graph
