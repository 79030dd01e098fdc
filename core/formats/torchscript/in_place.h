// Which values share memory, and what in-place ops therefore mean. Private to formats/torchscript: includes torch.
#pragma once

#include "core/formats/torchscript/program.h"

namespace normlens::formats::torchscript {

// Fills program.inPlace, the volatileReason of constants that the model writes, and writesState.
// See memory_sharing.h for what shares memory.
void analyseInPlace(Program& program);

}  // namespace normlens::formats::torchscript
