// Boxes and edges to places and curves like runDot(), for graphs of any size: time and memory grow with boxes + edges
// (and their sorting), whatever the edges' spans and circles.
//
// Every edge that can go forward does; no two boxes overlap and no curve crosses a box. Thread: any, also several.
#pragma once

#include "ui/layout/dot/dot_graph.h"

namespace normlens::layout {

[[nodiscard]] DotDrawing layOutInLayers(const DotGraph& graph);

}  // namespace normlens::layout
