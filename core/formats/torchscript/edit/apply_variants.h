// From edits of single calls to edits of methods and functions. Private to formats/torchscript: includes torch.
//
// The program lists every call of a body as a frame of its own; the file has one body per method. Where all calls of a
// method on an instance want the same edits, the method is edited. Where they differ, the method gets a sibling under
// a new name and the callers that want it call that one; so does a method that is to take or return more, which stays
// as well, edited as for calls from outside (BodyUse). Functions are copied for the callers that want an edit.
#pragma once

#include <memory>
#include <vector>

#include "core/formats/torchscript/edit/apply_module_copy.h"
#include "core/formats/torchscript/lower/lowered_model.h"

namespace normlens::formats::torchscript {

// By frame of the program: what happens to its body.
using FrameEdits = std::vector<std::vector<BodyEdit>>;

// A model with edits in it, made of an opened one. `instances`: what the edits of the weights have put into the
// modules. Tensors that did not change are shared, and so is state that the model writes: a run writes copies. Throws
// EditRefused, c10::Error.
[[nodiscard]] Result<LoweredModel> rebuild(const LoweredModel& model, const FrameEdits& frames,
                                           EditsByInstance instances);

}  // namespace normlens::formats::torchscript
