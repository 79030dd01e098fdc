// A tensor taken in parts, so that nothing of its size is made: in row-major order, each part a view into it.
#pragma once

#include <cstdint>
#include <functional>

#include "core/base/result.h"
#include "core/graph/types.h"

namespace normlens::run {

inline constexpr int64_t kPartElements = int64_t{1} << 16;

// Calls visit(index of its first element, part) until it returns an error; parts have at most `mostElements` elements.
// Thread: pure.
using VisitPart = std::function<Status(int64_t first, const graph::TensorView& part)>;
[[nodiscard]] Status forEachPart(const graph::TensorView& view, int64_t mostElements, const VisitPart& visit);

}  // namespace normlens::run
