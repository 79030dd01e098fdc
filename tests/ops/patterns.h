// Patterns, written short.
#pragma once

#include <cstdint>
#include <vector>

#include "core/ops/pattern.h"

namespace normlens::ops {

inline Pattern over(const graph::Shape& shape, const std::vector<int64_t>& axes) {
  return Pattern::overAxes(shape, axes);
}
inline Pattern text(const char* pattern) { return Pattern::parse(pattern).value(); }

}  // namespace normlens::ops
