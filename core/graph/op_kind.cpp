#include "core/graph/op_kind.h"

#include <array>
#include <cstddef>

namespace normlens::graph {
namespace {

constexpr std::array<std::string_view, static_cast<size_t>(OpKind::Count_)> kNames = {
    "Opaque",    "Identity",    "Cast",      "Neg",        "Add",          "Sub",       "Mul",
    "Div",       "Elementwise", "Where",     "MaskedFill", "Reshape",      "Permute",   "Expand",
    "Slice",     "Select",      "Split",     "Unbind",     "Concat",       "Stack",     "Roll",
    "Pad",       "Gather",      "Linear",    "MatMul",     "AddMatMul",    "Einsum",    "Conv",
    "Attention", "Recurrent",   "LayerNorm", "GroupNorm",  "InstanceNorm", "BatchNorm", "RmsNorm",
    "Softmax",   "Reduce",      "Mix",       "ShapeQuery", "If",           "Loop",
};
static_assert(kNames.back() == "Loop", "one name per kind");

}  // namespace

std::string_view opKindName(OpKind kind) { return kNames.at(static_cast<size_t>(kind)); }

OpKind opKindFromName(std::string_view name) {
  for (size_t i = 0; i < kNames.size(); ++i) {
    if (kNames[i] == name) return static_cast<OpKind>(i);
  }
  return OpKind::Opaque;
}

}  // namespace normlens::graph
