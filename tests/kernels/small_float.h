// float16 and bfloat16 by their definition, from and to double: an independent judge of the kernels' conversions.
#pragma once

#include <cstdint>

namespace normlens::kernels::test {

struct SmallFloat {
  int mantissaBits;  // stored ones
  int exponentBits;

  [[nodiscard]] double decode(uint16_t bits) const;
  [[nodiscard]] uint16_t encode(double value) const;  // to nearest, ties to even
};

inline constexpr SmallFloat kFloat16{10, 5};
inline constexpr SmallFloat kBFloat16{7, 8};

}  // namespace normlens::kernels::test
