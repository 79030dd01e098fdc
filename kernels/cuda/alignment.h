// Decides which rows can be read 16 bytes at a time. No header of CUDA is needed.
#pragma once

#include <cstdint>

#include "kernels/norm_rows.h"

namespace normlens::kernels::cuda {

// 16-byte reads are possible: pointers, strides and widths are multiples of them.
bool allowsVectors(Scalar scalar, const NormRows& rows);

int elementBytes(Scalar scalar);

}  // namespace normlens::kernels::cuda
