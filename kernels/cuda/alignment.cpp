#include "kernels/cuda/alignment.h"

#include <initializer_list>

namespace normlens::kernels::cuda {
namespace {

constexpr int kVectorBytes = 16;

bool isAligned(const void* at, int64_t bytes) {
  return reinterpret_cast<uintptr_t>(at) % static_cast<uintptr_t>(bytes) == 0;
}

}  // namespace

int elementBytes(Scalar scalar) {
  switch (scalar) {
    case Scalar::Float32:
      return 4;
    case Scalar::Float64:
      return 8;
    case Scalar::Float16:
    case Scalar::BFloat16:
      return 2;
  }
  return 0;
}

bool allowsVectors(Scalar scalar, const NormRows& rows) {
  const int vector = kVectorBytes / elementBytes(scalar);
  for (const int64_t size : {rows.width, rows.inputStride, rows.residualStride}) {
    if (size % vector != 0) return false;
  }
  const bool halfWithFloats = elementBytes(scalar) == 2 && rows.constants == ConstantType::OfSums;
  const int64_t constantBytes = halfWithFloats ? 2 * kVectorBytes : kVectorBytes;
  return isAligned(rows.input, kVectorBytes) && isAligned(rows.residual, kVectorBytes) &&
         isAligned(rows.sum, kVectorBytes) && isAligned(rows.output, kVectorBytes) &&
         isAligned(rows.weight, constantBytes) && isAligned(rows.bias, constantBytes);
}

}  // namespace normlens::kernels::cuda
