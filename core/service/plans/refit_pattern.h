// A pattern that was made for a value at one input size, for the same value at another. Thread: pure functions.
#pragma once

#include <cstdint>
#include <optional>

#include "core/graph/types.h"
#include "core/ops/pattern.h"

namespace normlens::service {

// -1: more than can be counted.
[[nodiscard]] int64_t elementsOf(const ops::Pattern& pattern);

// A dimension that is kept whole takes the size that it has in this shape. nullopt: the pattern does not fit, or it is
// ambiguous which size belongs to which dimension.
[[nodiscard]] std::optional<ops::Pattern> refitted(const ops::Pattern& pattern, const graph::Shape& shape);

}  // namespace normlens::service
