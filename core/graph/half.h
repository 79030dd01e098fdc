// halfToFloat() and the like of types.h, without branches and inline: for loops that are compiled for several
// instruction sets.
#pragma once

#include <bit>
#include <cstdint>

namespace normlens::graph::inlined {

[[nodiscard, gnu::always_inline]] inline float halfToFloat(uint16_t bits) {
  // Exponent and mantissa moved into place are the value times 2^-112, subnormals included; infinities and NaNs get
  // their exponent back by hand.
  const auto magnitude = static_cast<uint32_t>(bits & 0x7fffU) << 13;
  const float scaled = std::bit_cast<float>(magnitude) * 0x1p112F;
  const auto finite = std::bit_cast<uint32_t>(scaled);
  const uint32_t special = magnitude | 0x7f800000U;
  const auto sign = static_cast<uint32_t>(bits & 0x8000U) << 16;
  return std::bit_cast<float>(((bits & 0x7c00U) == 0x7c00U ? special : finite) | sign);
}

[[nodiscard, gnu::always_inline]] inline float bfloat16ToFloat(uint16_t bits) {
  return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
}

[[nodiscard, gnu::always_inline]] inline uint16_t floatToHalf(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  const uint32_t sign = (bits >> 16) & 0x8000U;
  const uint32_t magnitude = bits & 0x7fffffffU;
  // Normal: drop 13 bits, to nearest and ties to even. Subnormal: adding 1/2 makes the float unit round to 2^-24.
  const uint32_t normal = (magnitude + 0xfffU + ((magnitude >> 13) & 1U) - (112U << 23)) >> 13;
  const uint32_t tiny = std::bit_cast<uint32_t>(std::bit_cast<float>(magnitude) + 0.5F) - 0x3f000000U;
  uint32_t half = magnitude < 0x38800000U ? tiny : normal;
  half = magnitude >= 0x477ff000U ? 0x7c00U : half;
  half = magnitude > 0x7f800000U ? 0x7e00U : half;
  return static_cast<uint16_t>(half | sign);
}

[[nodiscard, gnu::always_inline]] inline uint16_t floatToBfloat16(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  const uint32_t rounded = (bits + 0x7fffU + ((bits >> 16) & 1U)) >> 16;
  const uint32_t quietNan = (bits >> 16) | 0x40U;
  return static_cast<uint16_t>((bits & 0x7fffffffU) > 0x7f800000U ? quietNan : rounded);
}

}  // namespace normlens::graph::inlined
