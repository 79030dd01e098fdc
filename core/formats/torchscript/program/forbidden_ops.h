// Forbids ops that reach beyond a model's own tensors. Private to formats/torchscript: includes torch.
//
// torch::jit::load runs parts of a file's code (__setstate__, default arguments, constants of classes), and the text
// does not show which op a name will turn out to be: t = torch; getattr(t, "sa" "ve"). So the op itself is disarmed, in
// torch's table of operators, through which all TorchScript goes: code that calls it is loaded, shown and written as
// ever, and raises an error where it would run.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/base/result.h"
#include "core/formats/torchscript/program/program.h"

namespace normlens::formats::torchscript {

// From here on no model can run a forbidden op in this process. `strict`: nor one that prints; stays on once it was on.
// Any thread, but none that runs a model.
void forbidOps(bool strict);

// Unsupported, naming the first forbidden op that forward() may come to and the module where it is.
[[nodiscard]] std::optional<Error> forbiddenCall(const Program& program);

// Finds in torch's message on code that raised an error while it was loaded the forbidden op that did it, and the code
// record that calls it ("calls aten::save, which writes files (code/__torch__/m.py)"); nullopt: none did.
[[nodiscard]] std::optional<std::string> forbiddenInLoading(std::string_view error);

}  // namespace normlens::formats::torchscript
