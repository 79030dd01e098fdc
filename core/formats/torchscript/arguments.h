// Between named tensors and the arguments and results of forward(). Private to formats/torchscript: includes torch.
#pragma once

#include <torch/script.h>

#include <vector>

#include "core/formats/model.h"

namespace normlens::formats::torchscript {

// One IValue per argument of forward() (without self). Tensors are matched by the argument's own name, else by "in_0",
// "in_1" ... , else by order; arrays named "out_..." are ignored. Floating tensors are cast to `floats`. A number
// argument takes an array of one element, a list of tensors or a dict takes all arrays where it is the only argument,
// a missing argument its default. Errors: BadInput naming the argument.
[[nodiscard]] Result<std::vector<c10::IValue>> toArguments(const c10::FunctionSchema& schema, const Tensors& inputs,
                                                           graph::DType floats);

// Tensors and numbers of a result, nested tuples, lists and dicts flattened in order, named out_0, out_1 ...
// None and strings are left out.
[[nodiscard]] Tensors toOutputs(const c10::IValue& result);

}  // namespace normlens::formats::torchscript
