// Between named tensors and the arguments and results of forward(). Private to formats/torchscript: includes torch.
#pragma once

#include <torch/script.h>

#include <vector>

#include "core/formats/model.h"
#include "core/formats/torchscript/program/input_layout.h"

namespace normlens::formats::torchscript {

// One IValue per argument of forward() (without self), as `layouts` describes them. Arrays are matched by their own
// names, else by "in_0", "in_1" ... , else by order; arrays named "out_..." are ignored. Floating tensors are cast to
// `floats`. A number takes an array of one element, a missing argument its default. Errors: BadInput naming the array.
[[nodiscard]] Result<std::vector<c10::IValue>> toArguments(const std::vector<InputLayout>& layouts,
                                                           const c10::FunctionSchema& schema, const Tensors& inputs,
                                                           graph::DType floats);

// The names of arrays as toArguments takes them. The parts of a list, tuple or dict may be given by the number of the
// argument ("in_1.0"), and without the name of the only one.
[[nodiscard]] std::vector<std::string> withContainerNames(const std::vector<InputLayout>& layouts,
                                                          std::vector<std::string> names);

// Tensors and numbers of a result, nested tuples, lists and dicts flattened in order, called by `names`, where they are
// as many, and what has none there out_0, out_1 ... None and strings are left out. Tensors are copied to the host.
[[nodiscard]] Tensors toOutputs(const c10::IValue& result, const std::vector<std::string>& names);

}  // namespace normlens::formats::torchscript
