// By how much weights of two models differ, and whether one is the other with its mean taken out.
#pragma once

#include <utility>
#include <vector>

#include "core/base/task.h"
#include "core/graph/graph.h"
#include "core/protocol/weight_messages.h"

namespace normlens::service {

// pairs: ids of values that are constants of a and of b. Walks each pair once, block by block, and holds no more of a
// tensor than a block. Thread: pure. Errors: Cancelled, Usage for a value that is no constant.
[[nodiscard]] Result<protocol::WeightChanges> weightChanges(const graph::Graph& a, const graph::Graph& b,
                                                            const std::vector<std::pair<int, int>>& pairs,
                                                            const Task& task);

}  // namespace normlens::service
