#include "tests/kernels/small_float.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace normlens::kernels::test {

double SmallFloat::decode(uint16_t bits) const {
  const int bias = (1 << (exponentBits - 1)) - 1;
  const int mantissa = bits & ((1 << mantissaBits) - 1);
  const int exponent = (bits >> mantissaBits) & ((1 << exponentBits) - 1);
  const double sign = bits & 0x8000 ? -1.0 : 1.0;
  if (exponent == (1 << exponentBits) - 1) {
    return mantissa ? std::numeric_limits<double>::quiet_NaN() : sign * std::numeric_limits<double>::infinity();
  }
  if (exponent == 0) return sign * std::ldexp(mantissa, 1 - bias - mantissaBits);
  return sign * std::ldexp(mantissa + (1 << mantissaBits), exponent - bias - mantissaBits);
}

uint16_t SmallFloat::encode(double value) const {
  const int bias = (1 << (exponentBits - 1)) - 1;
  const auto sign = static_cast<uint16_t>(std::signbit(value) ? 0x8000 : 0);
  const int infinity = ((1 << exponentBits) - 1) << mantissaBits;
  if (std::isnan(value)) return static_cast<uint16_t>(sign | infinity | (1 << (mantissaBits - 1)));
  const double magnitude = std::abs(value);
  if (std::isinf(magnitude)) return static_cast<uint16_t>(sign | infinity);
  if (magnitude == 0.0) return sign;
  const int exponent = std::max(std::ilogb(magnitude), 1 - bias);
  const double units = std::nearbyint(std::ldexp(magnitude, mantissaBits - exponent));  // of the last place
  // A carry out of the mantissa, or out of the subnormals, lands in the exponent by itself.
  const int base = exponent + bias - 1;
  return static_cast<uint16_t>(sign | std::min((base << mantissaBits) + static_cast<int>(units), infinity));
}

}  // namespace normlens::kernels::test
