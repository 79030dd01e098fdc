// The group "masks and positions": index arithmetic that traced models do before the first weight comes into play.
#pragma once

#include "ui/layout/hierarchy.h"

namespace normlens::layout {

// Gathers, in every group that also has weights, the children that nothing with weights comes before; where there are
// few, they stay as they are. The new group has no predecessors but the model's inputs, so no circle can arise.
void gatherPreparation(Hierarchy& hierarchy);

}  // namespace normlens::layout
