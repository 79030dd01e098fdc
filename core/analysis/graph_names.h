// The names of the graph that all of the analysis speaks of, without `graph::` before them. For its .cpp files alone.
#pragma once

#include "core/graph/graph.h"

namespace normlens::analysis {

using graph::Graph;
using graph::kNone;
using graph::kNoValue;
using graph::Node;
using graph::NodeId;
using graph::OpKind;
using graph::Shape;
using graph::Use;
using graph::ValueId;

}  // namespace normlens::analysis
