// Code that a node runs and a Program does not show: methods of objects that are made or chosen at run time, and what
// `with` enters and leaves. Private to formats/torchscript: includes torch.
#pragma once

#include <torch/csrc/jit/ir/ir.h>

#include "core/formats/torchscript/program/module_index.h"

namespace normlens::formats::torchscript {

[[nodiscard]] bool runsHiddenCode(const torch::jit::Node& node);

// Returns whether that code, however deep, may write into memory that is handed to it.
[[nodiscard]] bool hiddenCodeMayWrite(const torch::jit::Node& node, const ModuleIndex& index);

// The method of the object that a `with` block calls at this prim::Enter or prim::Exit.
[[nodiscard]] torch::jit::Function* methodOfWith(const torch::jit::Node& node);

}  // namespace normlens::formats::torchscript
