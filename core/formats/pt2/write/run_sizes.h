// Sizes that a run of a written program shows, written into its document. Private to formats/pt2: includes torch.
#pragma once

#include "core/formats/pt2/translate/program.h"
#include "core/formats/torchscript/model/torchscript_model.h"

namespace normlens::formats::pt2 {

// Describes values whose sizes an edit has changed along axes that the program fixes: between a narrow weight and
// a stream, and at new nodes. `probed`: the program's own module, after a probe. Symbols stay. Throws BrokenDocument.
void describeSizes(Program& program, const torchscript::TorchScriptModel& probed);

}  // namespace normlens::formats::pt2
