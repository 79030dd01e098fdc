// Redraws what leaves and joins the residual stream as lines with round corners, where the way is free.
//
//     │ stream                A branch leaves the line at the height of its reader and enters it from the side, or
//     ├────▶ ln_2             from above where the reader is a group. A sum is met from the side at its own height.
//     │       │               Where a box is in the way dot's own curve stays.
//    (+)◀─────╯
#pragma once

#include <vector>

#include "ui/layout/dot_layout.h"

namespace normlens::layout {

enum class EntrySide : uint8_t { Side, Top };  // how a branch may enter a box

void routeAlongStream(const DotGraph& graph, const std::vector<EntrySide>& entries, DotDrawing& drawing);

}  // namespace normlens::layout
