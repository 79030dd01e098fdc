// Scopes for a graph whose file names none: most networks are a few blocks, repeated, and can be read as such.
//
// Thread: one at a time.
#pragma once

#include "core/graph/graph.h"

namespace normlens::graph {

// If most nodes lie directly in the model, stretches of the same operators that follow each other become scopes
// block_0, block_1, ..., cut where the fewest values pass from one to the next; stretches within long blocks likewise.
// If hundreds of siblings are left, runs of them become part_0, part_1, ..., so that no scope has more children than
// can be drawn and read. Goes by operators alone: with and without shapes the same scopes come out.
void groupRepeatedBlocks(Graph& graph);

}  // namespace normlens::graph
