// The rows of a tensor: what a norm over some of its axes takes for one vector each. Read one at a time, so that
// nothing of the tensor's size is made. Thread: pure.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "core/base/result.h"
#include "core/graph/types.h"

namespace normlens::run {

// Calls visit(row) for every index of the other axes, in row-major order; a row has the elements along `axes` in
// row-major order, converted to double. `axes` of the tensor: ascending, negative ones count from the end.
// Errors: Unsupported where the elements are no real floating-point numbers; BadInput where the tensor has no elements,
// or lacks an axis.
using VisitRow = std::function<void(std::span<const double> row)>;
[[nodiscard]] Status forEachRow(const graph::TensorView& view, const std::vector<int64_t>& axes, const VisitRow& visit);

}  // namespace normlens::run
