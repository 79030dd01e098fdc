#include "core/graph/queries.h"

namespace normlens::graph {

bool sameTypeAndShape(const Graph& graph, ValueId a, ValueId b) {
  const Value& first = graph.value(a);
  const Value& second = graph.value(b);
  return first.shape && first.shape == second.shape && first.dtype == second.dtype;
}

}  // namespace normlens::graph
