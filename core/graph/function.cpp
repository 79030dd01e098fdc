#include "core/graph/function.h"

#include <array>
#include <cstddef>

namespace normlens::graph {
namespace {

constexpr std::array<std::string_view, static_cast<size_t>(Function::Count_)> kNames = {
    "Other",   "Square", "Power", "SquareRoot", "InverseSquareRoot", "Reciprocal", "Relu",
    "Maximum", "Step",   "Cast",  "Unsqueeze",  "Product",           "Sizes"};
static_assert(kNames.back() == "Sizes", "one name per function");

}  // namespace

std::string_view functionName(Function function) { return kNames.at(static_cast<size_t>(function)); }

}  // namespace normlens::graph
