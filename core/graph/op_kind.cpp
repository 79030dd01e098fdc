#include "core/graph/op_kind.h"

#include <array>
#include <cstddef>

namespace normlens::graph {
namespace {

struct Row {
  std::string_view name;
  size_t required;  // operands, from the first one on, without which the node means nothing
};

constexpr std::array<Row, static_cast<size_t>(OpKind::Count_)> kRows = {{
    {"Opaque", 0},    {"Identity", 1},   {"Cast", 1},        {"Neg", 1},       {"Add", 2},        {"Sub", 2},
    {"Mul", 2},       {"Div", 2},        {"Elementwise", 1}, {"Where", 3},     {"MaskedFill", 3}, {"Reshape", 1},
    {"Permute", 1},   {"Rearrange", 1},  {"Expand", 1},      {"Slice", 1},     {"Select", 1},     {"Split", 1},
    {"Unbind", 1},    {"Concat", 1},     {"Stack", 1},       {"Roll", 1},      {"Pad", 1},        {"Gather", 2},
    {"Scatter", 2},   {"MaskedCopy", 3}, {"Linear", 2},      {"MatMul", 2},    {"AddMatMul", 3},  {"Einsum", 1},
    {"Conv", 2},      {"Attention", 3},  {"Recurrent", 1},   {"LayerNorm", 1}, {"GroupNorm", 1},  {"InstanceNorm", 1},
    {"BatchNorm", 1}, {"RmsNorm", 1},    {"Softmax", 1},     {"Reduce", 1},    {"Mix", 1},        {"ShapeQuery", 0},
    {"If", 0},        {"Loop", 0},
}};
static_assert(kRows.back().name == "Loop", "one row per kind");

}  // namespace

std::string_view opKindName(OpKind kind) { return kRows.at(static_cast<size_t>(kind)).name; }

size_t requiredOperands(OpKind kind) { return kRows.at(static_cast<size_t>(kind)).required; }

}  // namespace normlens::graph
