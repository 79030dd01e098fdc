// Finds by how much weights of two models differ, and whether one is the other with its means taken out, or with the
// shift of a norm moved in.
#pragma once

#include <span>
#include <utility>
#include <vector>

#include "core/analysis/norms/norms.h"
#include "core/base/task.h"
#include "core/graph/graph.h"
#include "core/protocol/messages.h"
#include "core/protocol/weight_messages.h"

namespace normlens::service {

// Digests with which two models' weights are compared without holding both in memory.

// Equal texts: the same type, shape and bits. Reads every weight once, in parts. Thread: pure. Errors: Cancelled.
[[nodiscard]] Result<protocol::WeightDigests> weightDigests(const graph::Graph& graph, const Task& task);

// pairs: ids of values that are constants of a and of b; norms: of a, which then has shapes. Walks each pair block by
// block, and holds no more of a tensor than a block, but of a bias. Thread: pure. Errors: Cancelled, Usage for a value
// that is no constant.
[[nodiscard]] Result<protocol::WeightChanges> weightChanges(const graph::Graph& a, const graph::Graph& b,
                                                            const std::vector<std::pair<int, int>>& pairs,
                                                            std::span<const analysis::LayerNorm> norms,
                                                            const Task& task);

}  // namespace normlens::service
