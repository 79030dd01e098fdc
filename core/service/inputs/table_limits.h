// Finds rows that a run needed from an embedding, or from a table of positions, and that it does not have.
#pragma once

#include <string>
#include <vector>

#include "core/formats/model.h"
#include "core/graph/graph.h"

namespace normlens::service {

// One sentence that names the table, its rows and the input, "wpe.weight has 64 rows: ids can have no more than 64
// along an axis, and 100 were asked for"; empty: no table is known to be too small for these inputs. Call it after a
// run that did not come to its end: an input's size may also have to do with something else.
[[nodiscard]] std::string missingRows(const graph::Graph& graph, const std::vector<formats::InputSpec>& inputs);

}  // namespace normlens::service
