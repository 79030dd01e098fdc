// The scalar types of the kernels as the tests see them, and memory of one type that is read and written as double.
// float16 and bfloat16 are converted by their definition: an independent judge of the kernels' conversions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/norm_rows.h"

namespace normlens::kernels::test {

struct Type {
  const char* name;
  Scalar scalar;
  size_t bytes;
  double ulp;   // distance from 1 to the next number
  double tiny;  // smallest positive number
};

inline constexpr Type kTypes[] = {{"float32", Scalar::Float32, 4, 0x1p-23, 0x1p-149},
                                  {"float64", Scalar::Float64, 8, 0x1p-52, 0x1p-1074},
                                  {"float16", Scalar::Float16, 2, 0x1p-10, 0x1p-24},
                                  {"bfloat16", Scalar::BFloat16, 2, 0x1p-7, 0x1p-133}};

struct SmallFloat {
  int mantissaBits;  // stored ones
  int exponentBits;

  [[nodiscard]] double decode(uint16_t bits) const;
  [[nodiscard]] uint16_t encode(double value) const;  // to nearest, ties to even
};

inline constexpr SmallFloat kFloat16{10, 5};
inline constexpr SmallFloat kBFloat16{7, 8};

class Buffer {
 public:
  Buffer(const Type& type, size_t count, double fill);

  void set(size_t i, double value);
  [[nodiscard]] double get(size_t i) const;
  void* at(size_t i) { return bytes_.data() + i * type_.bytes; }

 private:
  Type type_;
  std::vector<unsigned char> bytes_;
};

}  // namespace normlens::kernels::test
