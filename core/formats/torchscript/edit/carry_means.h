// fold::RestoreMean in the code: what linears take out of a stream is computed beside them, handed up through the calls
// to the body where the stream is read as it is, and added there. Private to formats/torchscript: includes torch.
#pragma once

#include <vector>

#include "core/formats/torchscript/edit/apply_variants.h"
#include "core/formats/torchscript/lower/lowered_model.h"

namespace normlens::formats::torchscript {

// All of a plan, in its order; before the edits that change what the linears read. Throws EditRefused where a body
// cannot return more.
void carryMeans(const LoweredModel& model, const std::vector<fold::RestoreMean>& edits, FrameEdits& frames,
                EditsByInstance& instances);

}  // namespace normlens::formats::torchscript
