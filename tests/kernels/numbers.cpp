#include "tests/kernels/numbers.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

namespace normlens::kernels::test {
namespace {

template <class T>
void write(void* to, T value) {
  std::memcpy(to, &value, sizeof value);
}

template <class T>
T read(const void* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

}  // namespace

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

Buffer::Buffer(const Type& type, size_t count, double fill) : type_(type), bytes_(count * type.bytes) {
  for (size_t i = 0; i < count; ++i) set(i, fill);
}

void Buffer::set(size_t i, double value) {
  switch (type_.scalar) {
    case Scalar::Float32:
      return write(at(i), static_cast<float>(value));
    case Scalar::Float64:
      return write(at(i), value);
    case Scalar::Float16:
      return write(at(i), kFloat16.encode(value));
    case Scalar::BFloat16:
      return write(at(i), kBFloat16.encode(value));
  }
}

double Buffer::get(size_t i) const {
  const void* from = bytes_.data() + i * type_.bytes;
  switch (type_.scalar) {
    case Scalar::Float32:
      return read<float>(from);
    case Scalar::Float64:
      return read<double>(from);
    case Scalar::Float16:
      return kFloat16.decode(read<uint16_t>(from));
    case Scalar::BFloat16:
      return kBFloat16.decode(read<uint16_t>(from));
  }
  return 0.0;
}

}  // namespace normlens::kernels::test
