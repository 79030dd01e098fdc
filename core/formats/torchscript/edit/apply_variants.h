// From edits of single calls to edits of methods and functions. Private to formats/torchscript: includes torch.
//
// The program lists every call of a body as a frame of its own; the file has one body per method. Where all calls of a
// method on an instance want the same edits, the method is edited. Where they differ, the method gets a sibling under
// a new name and the callers that want it call that one; so does a method that is to take or return more, which stays
// as well, edited as for calls from outside (BodyUse). Functions are copied for the callers that want an edit.
#pragma once

#include <vector>

#include "core/formats/torchscript/edit/apply_module_copy.h"

namespace normlens::formats::torchscript {

// By frame of the program: what happens to its body.
using FrameEdits = std::vector<std::vector<BodyEdit>>;

// Adds the method edits to `edits`; copies of functions go into `unit`. Throws EditRefused.
void spreadToMethods(const Program& program, const FrameEdits& frameEdits, const OtherEntries& others,
                     torch::jit::CompilationUnit& unit, EditsByInstance& edits);

}  // namespace normlens::formats::torchscript
