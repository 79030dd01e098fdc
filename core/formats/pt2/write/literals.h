// Constants of a module as arguments of an exported program's nodes. Private to formats/pt2: includes torch.
#pragma once

#include <torch/script.h>

#include "core/formats/pt2/file/json.h"

namespace normlens::formats::pt2 {

// {"as_int": 1} and its kin. `type`: what the operator's schema wants there, with the types that the dispatcher
// distinguishes (an element type is a number in TorchScript). Throws EditRefused for what has no form there.
[[nodiscard]] Json literalArgument(const c10::IValue& value, const c10::TypePtr& type);

// {"as_tensor": {"name": ...}}, or as_sym_int and its kin, by the value's type.
[[nodiscard]] Json namedArgument(const std::string& name, const c10::Type& type);

}  // namespace normlens::formats::pt2
