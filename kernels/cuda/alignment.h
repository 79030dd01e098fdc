// What can be read 16 bytes at a time. No header of CUDA is needed.
#pragma once

#include <cstdint>

#include "kernels/norm_rows.h"

namespace normlens::kernels::cuda {

// Whether weight and bias are in the type of the rows, or in that of the sums (double for Float64, else float).
enum class ConstantType { OfRows, OfSums };

// 16-byte reads are possible: pointers, strides and widths are multiples of them.
bool allowsVectors(Scalar scalar, const NormRows& rows, ConstantType constants);

int elementBytes(Scalar scalar);

}  // namespace normlens::kernels::cuda
