// Places the title of an open group in the band below its top border, beside the curves that cross it.
#pragma once

#include "ui/layout/local_layout.h"

namespace normlens::layout {

// Left if it fits there, else at the right end, else between two curves; with the class (full width) or, if that fits
// nowhere, the name alone. False when there is no room: the layout is then as before, but for its title fields.
[[nodiscard]] bool fitTitle(LocalLayout& layout, double fullWidth, double nameWidth);

// Makes room for the name at the right end.
void widenForTitle(LocalLayout& layout, double nameWidth);

}  // namespace normlens::layout
