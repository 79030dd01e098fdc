// The norms of kernels/norm_rows.h on the CPU. Torch-free.
//
// Each row is independent, so any split of
// the rows over threads gives the same bits. One code path per instruction set, chosen at run time.
// Thread: pure functions over the caller's memory.
#pragma once

#include <span>

#include "kernels/norm_rows.h"

namespace normlens::kernels {

// Normalizes rows [begin, end).
using RowNormFunction = void (*)(Scalar scalar, const NormRows& rows, int64_t begin, int64_t end);

struct RowNormVariant {
  const char* name;     // "avx512", "avx2", "baseline"
  bool (*supported)();  // by the processor that runs this
  RowNormFunction run;
};

// Every variant that was compiled in, fastest first; the last one runs everywhere.
std::span<const RowNormVariant> rowNormVariants();

// Returns the fastest variant that this processor supports.
const RowNormVariant& bestRowNormVariant();

}  // namespace normlens::kernels
