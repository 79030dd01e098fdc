// Checks of our own work, in all builds but Release.
#pragma once

#include "core/graph/graph.h"

namespace normlens::graph {

#ifdef NORMLENS_DEBUG_CHECKS
inline constexpr bool kDebugChecks = true;
#else
inline constexpr bool kDebugChecks = false;
#endif

// Throws std::logic_error with what checkGraph() finds, and `maker`, which made the graph: a lowering, a rewriting.
// Free of cost where kDebugChecks is false.
void requireSound(const Graph& graph, const char* maker);

}  // namespace normlens::graph
