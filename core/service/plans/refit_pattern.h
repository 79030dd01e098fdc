// A pattern that was made for a value at one input size, for the same value at another. Thread: pure functions.
#pragma once

#include <cstdint>
#include <optional>

#include "core/graph/types.h"
#include "core/ops/pattern.h"

namespace normlens::service {

// -1: more than can be counted.
[[nodiscard]] int64_t elementsOf(const ops::Pattern& pattern);

// What is kept whole takes the size that it has in this shape. nullopt: the pattern does not fit, or which size belongs
// to what cannot be told.
[[nodiscard]] std::optional<ops::Pattern> refitted(const ops::Pattern& pattern, const graph::Shape& shape);

}  // namespace normlens::service
