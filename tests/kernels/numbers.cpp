#include "tests/kernels/numbers.h"

#include <cstring>

#include "tests/kernels/small_float.h"

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
