#include "kernels/cpu/rms_norm.h"

#include <algorithm>
#include <array>

namespace normlens::kernels {

namespace baseline {
void rmsNormRows(Scalar scalar, const RmsNormRows& rows, int64_t begin, int64_t end);
}
namespace avx2 {
void rmsNormRows(Scalar scalar, const RmsNormRows& rows, int64_t begin, int64_t end);
}
namespace avx512 {
void rmsNormRows(Scalar scalar, const RmsNormRows& rows, int64_t begin, int64_t end);
}

namespace {

bool always() { return true; }

#if defined(__x86_64__)
bool hasAvx2() { return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"); }
bool hasAvx512() {
  return hasAvx2() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
}
#endif

constexpr std::array kVariants = {
#if defined(__x86_64__)
    RmsNormVariant{"avx512", hasAvx512, avx512::rmsNormRows},
    RmsNormVariant{"avx2", hasAvx2, avx2::rmsNormRows},
#endif
    RmsNormVariant{"baseline", always, baseline::rmsNormRows},
};

}  // namespace

std::span<const RmsNormVariant> rmsNormVariants() { return kVariants; }

const RmsNormVariant& bestRmsNormVariant() {
  return *std::ranges::find_if(kVariants, [](const RmsNormVariant& variant) { return variant.supported(); });
}

}  // namespace normlens::kernels
