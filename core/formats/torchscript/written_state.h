// What a model writes while it runs, copied, so that a run or a copy of the model leaves the original as it is.
// Private to formats/torchscript: includes torch.
#pragma once

#include "core/formats/torchscript/apply_module_copy.h"
#include "core/formats/torchscript/program.h"

namespace normlens::formats::torchscript {

// The attributes that hold written memory, and all containers of a model that writes any, with contents of their own:
// tensors that shared memory share the copy. Tensors that nothing writes stay the module's.
[[nodiscard]] EditsByInstance copiesOfWrittenState(const torch::jit::Module& module, const Program& program);

}  // namespace normlens::formats::torchscript
