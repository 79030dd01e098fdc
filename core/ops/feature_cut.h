// Decides whether a part cut out of a value is a part of the features that a weight makes, whatever the input's size.
#pragma once

#include "core/graph/graph.h"
#include "core/ops/pattern.h"

namespace normlens::ops {

// `cut` cuts the region of `pattern` out of `value`, along an axis that is not summed. True where the region is one of
// output features of a linear, or of rows of a constant that are fixed: q, k and v of a fused projection are then
// centered apart. False where the cut may move with the input's size (the first T rows of a table of positions): the
// whole is needed. Along all other axes that also gives all reads of a stream the same question.
[[nodiscard]] bool cutsFeatures(const graph::Graph& graph, const graph::Node& cut, graph::ValueId value,
                                const Pattern& pattern);

}  // namespace normlens::ops
