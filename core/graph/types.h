// Element types and tensor views, shared by every format. No framework here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

namespace normlens::graph {

using Shape = std::vector<int64_t>;

enum class DType : uint8_t {
  Unknown,
  Bool,
  UInt8,
  Int8,
  Int16,
  Int32,
  Int64,
  Float16,
  BFloat16,
  Float32,
  Float64,
  Complex64,
  Complex128,
  Quantized,
};

[[nodiscard]] std::string_view dtypeName(DType dtype);     // "float32"; "?" for Unknown
[[nodiscard]] DType dtypeFromName(std::string_view name);  // Unknown when there is no such type
[[nodiscard]] size_t dtypeBytes(DType dtype);              // 0 for Unknown and Quantized
[[nodiscard]] bool isFloat(DType dtype);                   // a real floating type
[[nodiscard]] int mantissaBits(DType dtype);               // stored bits; 0 if not a real floating type
[[nodiscard]] int exponentBits(DType dtype);               // 0 if not a real floating type
// A cast that rounds no value of `from`: at least as many mantissa and exponent bits.
[[nodiscard]] bool castIsExact(DType from, DType to);

// Number of elements; nullopt on a negative dimension or overflow of int64.
[[nodiscard]] std::optional<int64_t> elementCount(const Shape& shape);

// Read-only view of a strided tensor in memory. `owner` keeps the memory alive. strides in elements.
struct TensorView {
  const std::byte* data = nullptr;
  DType dtype = DType::Unknown;
  Shape shape;
  std::vector<int64_t> strides;
  std::shared_ptr<const void> owner;

  [[nodiscard]] bool contiguous() const;
};

// Returns the bytes of all its elements; 0 where the type has no size.
[[nodiscard]] int64_t byteCount(const TensorView& view);

// The elements in row-major order, converted to double. Complex and quantized tensors yield nullopt.
[[nodiscard]] std::optional<std::vector<double>> toDoubles(const TensorView& view);

// Every element is 0; false as well where there are more than `most` to look at.
[[nodiscard]] bool isZero(const TensorView& view, int64_t most);

// One float16 or bfloat16 bit pattern as float, and back (round to nearest, ties to even).
inline constexpr double kLargestFloat16 = 65504;
[[nodiscard]] float halfToFloat(uint16_t bits);
[[nodiscard]] float bfloat16ToFloat(uint16_t bits);
[[nodiscard]] uint16_t floatToHalf(float value);
[[nodiscard]] uint16_t floatToBfloat16(float value);

}  // namespace normlens::graph
