#include "kernels/cpu/row_norm.h"

#include <algorithm>
#include <array>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace normlens::kernels {

namespace baseline {
void normalizeRows(Scalar scalar, const NormRows& rows, int64_t begin, int64_t end);
}
namespace avx2 {
void normalizeRows(Scalar scalar, const NormRows& rows, int64_t begin, int64_t end);
}
namespace avx512 {
void normalizeRows(Scalar scalar, const NormRows& rows, int64_t begin, int64_t end);
}

namespace {

bool always() { return true; }

#if defined(__x86_64__)
// clang 14 lacks __builtin_cpu_supports("f16c").
bool hasF16c() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid(1, &a, &b, &c, &d) && (c & bit_F16C);
}
bool hasAvx2() { return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && hasF16c(); }
bool hasAvx512() {
  return hasAvx2() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
}
#endif

constexpr std::array kVariants = {
#if defined(__x86_64__)
    RowNormVariant{"avx512", hasAvx512, avx512::normalizeRows},
    RowNormVariant{"avx2", hasAvx2, avx2::normalizeRows},
#endif
    RowNormVariant{"baseline", always, baseline::normalizeRows},
};

}  // namespace

std::span<const RowNormVariant> rowNormVariants() { return kVariants; }

const RowNormVariant& bestRowNormVariant() {
  // CPUID leaves a virtual machine each time, which takes longer than the rows of a small tensor.
  static const RowNormVariant& best =
      *std::ranges::find_if(kVariants, [](const RowNormVariant& variant) { return variant.supported(); });
  return best;
}

}  // namespace normlens::kernels
