// A value that many boxes further down read (an attention mask, positions) is drawn as one rail beside them.
//
//   source ──────────╮     Left to dot it becomes a fan of curves as wide as the model is deep.
//     [ layer.0 ] ◀──┤
//     [ layer.1 ] ◀──┤
//     [ layer.2 ] ◀──╯
#pragma once

#include <vector>

#include "ui/layout/dot_layout.h"

namespace normlens::layout {

// The edges (by index) that would be better off on rails, judged from a first drawing; one list per rail.
[[nodiscard]] std::vector<std::vector<int>> findRails(const DotGraph& graph, const DotDrawing& drawing);

// Draws them. `movable`: sources that may be moved sideways (ports on the group's own border). Returns the edges that
// something is in the way of; they have no curve of use.
[[nodiscard]] std::vector<int> drawRails(const DotGraph& graph, const std::vector<std::vector<int>>& rails,
                                         const std::vector<bool>& movable, DotDrawing& drawing);

}  // namespace normlens::layout
