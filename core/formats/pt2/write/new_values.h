// Describes the results of operators that an edit adds to a program. Private to formats/pt2: includes torch.
#pragma once

#include <torch/csrc/jit/ir/ir.h>

#include <functional>

#include "core/formats/pt2/file/json.h"

namespace normlens::formats::pt2 {

// TensorMeta of a value; throws EditRefused where it has none.
using MetaOf = std::function<Json(const torch::jit::Value*)>;

// That of each output: all have one. `replaced`: that of the value whose place an output takes; null: none is known.
// Throws EditRefused for an operator, or sizes, of which it cannot be computed.
[[nodiscard]] Json metaOfResult(const torch::jit::Node& node, const MetaOf& metaOf, const Json* replaced);

}  // namespace normlens::formats::pt2
