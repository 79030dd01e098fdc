// Graphviz dot as a function: boxes and edges in, positions and curves out.
//
// No label ever reaches Graphviz, so it loads no fonts. It cannot be stopped and takes minutes for some graphs: the
// window has it run in a process of its own (dot_process.h). Thread: one, always the same; Graphviz is not thread-safe
// at all, not even with a context per thread.
#pragma once

#include "core/base/result.h"
#include "ui/layout/dot/dot_graph.h"

namespace normlens::layout {

// Loads Graphviz, where it is not yet. Error: it cannot be.
[[nodiscard]] Status prepareDot();

[[nodiscard]] Result<DotDrawing> runDot(const DotGraph& graph);

}  // namespace normlens::layout
