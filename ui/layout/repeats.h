// Equal blocks in a row, shown once: "h.0 … h.11  Block ×12".
#pragma once

#include "ui/layout/hierarchy.h"

namespace normlens::layout {

// Puts each run of sibling groups that hold the same ops in the same order into a group of its own, where that makes
// no circle. Items are not renumbered.
void foldRepeats(Hierarchy& hierarchy);

}  // namespace normlens::layout
