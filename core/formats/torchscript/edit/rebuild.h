// A model with edits in it, made of an opened one. Private to formats/torchscript: includes torch.
#pragma once

#include <memory>

#include "core/formats/torchscript/edit/apply_variants.h"
#include "core/formats/torchscript/program/torchscript_model.h"

namespace normlens::formats::torchscript {

// `instances`: what the edits of the weights have put into the modules. Tensors that did not change are shared, and
// so is state that the model writes: a run writes copies. Throws EditRefused.
[[nodiscard]] Result<std::unique_ptr<TorchScriptModel>> rebuild(const TorchScriptModel& model, const FrameEdits& frames,
                                                                const OtherEntries& others, EditsByInstance instances);

}  // namespace normlens::formats::torchscript
