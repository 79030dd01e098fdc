// Vectors of one instruction set, and how each scalar type is loaded into and stored from them.
//
// Included by the row_norm_<isa>.cpp files only, each of which defines NORMLENS_ISA (a namespace name) and
// NORMLENS_VECTOR_BYTES first. Everything lives in that namespace and uses no inline function of the standard library:
// two files compiled for different processors must not share a symbol, or the linker could keep the wrong one.
#pragma once

#include <cstdint>

#if defined(__F16C__)
#include <immintrin.h>
#endif

namespace normlens::kernels::NORMLENS_ISA {

template <class Element, int count>
struct VectorOf {
  using Type __attribute__((vector_size(count * sizeof(Element)))) = Element;
};

constexpr int kFloats = NORMLENS_VECTOR_BYTES / 4;
constexpr int kDoubles = NORMLENS_VECTOR_BYTES / 8;

using Floats = VectorOf<float, kFloats>::Type;
using Doubles = VectorOf<double, kDoubles>::Type;
using Words = VectorOf<uint32_t, kFloats>::Type;
using HalfWords = VectorOf<uint16_t, kFloats>::Type;

template <class To, class From>
inline __attribute__((always_inline)) To bitCast(const From& from) {
  static_assert(sizeof(To) == sizeof(From));
  To to;
  __builtin_memcpy(&to, &from, sizeof to);
  return to;
}

// Lane<tag>: Stored is an element in memory, Sum the type of sums, Vector holds kCount of Sum.
struct Float32Lane {
  using Stored = float;
  using Sum = float;
  using Vector = Floats;
  static constexpr int kCount = kFloats;
  static Vector load(const Stored* from) {
    Vector v;
    __builtin_memcpy(&v, from, sizeof v);
    return v;
  }
  static void store(Stored* to, const Vector& v) { __builtin_memcpy(to, &v, sizeof v); }
};

struct Float64Lane {
  using Stored = double;
  using Sum = double;
  using Vector = Doubles;
  static constexpr int kCount = kDoubles;
  static Vector load(const Stored* from) {
    Vector v;
    __builtin_memcpy(&v, from, sizeof v);
    return v;
  }
  static void store(Stored* to, const Vector& v) { __builtin_memcpy(to, &v, sizeof v); }
};

struct BFloat16Lane {
  using Stored = uint16_t;
  using Sum = float;
  using Vector = Floats;
  static constexpr int kCount = kFloats;
#if defined(__F16C__) && NORMLENS_VECTOR_BYTES == 64
  static constexpr __mmask16 kAll = 0xffff;
  static Vector load(const Stored* from) {
    const __m256i halves = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
    return bitCast<Vector>(_mm512_maskz_slli_epi32(kAll, _mm512_maskz_cvtepu16_epi32(kAll, halves), 16));
  }
  // 1, 3, 5 ...: where the upper halves of 32-bit numbers stand.
  static __m512i upperPlaces() {
    VectorOf<uint16_t, 32>::Type places{};
    for (int i = 0; i < kCount; ++i) places[i] = static_cast<uint16_t>(2 * i + 1);
    return bitCast<__m512i>(places);
  }
  // Rounded to nearest, ties to even; a NaN stays one. Written out: gcc 12 makes more of the vector form.
  static void store(Stored* to, const Vector& v) {
    const auto bits = bitCast<__m512i>(v);
    const __m512i odd = _mm512_and_si512(_mm512_maskz_srli_epi32(kAll, bits, 16), _mm512_set1_epi32(1));
    const __m512i carried = _mm512_add_epi32(_mm512_add_epi32(bits, _mm512_set1_epi32(0x7fff)), odd);
    const __mmask16 isNan = _mm512_cmp_ps_mask(bitCast<__m512>(v), bitCast<__m512>(v), _CMP_UNORD_Q);
    const __m512i rounded = _mm512_mask_or_epi32(carried, isNan, bits, _mm512_set1_epi32(0x400000));
    const __m512i upperHalves = _mm512_maskz_permutexvar_epi16(0xffff'ffff, upperPlaces(), rounded);
    __builtin_memcpy(to, &upperHalves, kCount * sizeof to[0]);
  }
#else
  static Vector load(const Stored* from) {
    HalfWords v;
    __builtin_memcpy(&v, from, sizeof v);
    return bitCast<Floats>(__builtin_convertvector(v, Words) << 16);
  }
  static void store(Stored* to, const Vector& v) {
    const auto bits = bitCast<Words>(v);
    const Words rounded = (bits + 0x7fffU + ((bits >> 16) & 1U)) >> 16;  // to nearest, ties to even
    const Words quietNan = (bits >> 16) | 0x40U;
    const auto isNan = bitCast<Words>((bits & 0x7fffffffU) > 0x7f800000U);
    const auto out = __builtin_convertvector((rounded & ~isNan) | (quietNan & isNan), HalfWords);
    __builtin_memcpy(to, &out, sizeof out);
  }
#endif
};

#if !defined(__F16C__)
// IEEE binary16 by integer arithmetic, for processors without the instruction.
inline float halfToFloat(uint16_t half) {
  const uint32_t sign = static_cast<uint32_t>(half & 0x8000U) << 16;
  const uint32_t exponent = (half >> 10) & 0x1fU;
  const uint32_t mantissa = half & 0x3ffU;
  if (exponent == 0) {
    const float magnitude = static_cast<float>(mantissa) * 0x1p-24f;  // zero and subnormals
    return bitCast<float>(bitCast<uint32_t>(magnitude) | sign);
  }
  const uint32_t wide = exponent == 31 ? 0xffU : exponent + 112U;
  return bitCast<float>(sign | (wide << 23) | (mantissa << 13));
}

inline uint16_t floatToHalf(float value) {
  const uint32_t bits = bitCast<uint32_t>(value);
  const auto sign = static_cast<uint16_t>((bits >> 16) & 0x8000U);
  const uint32_t magnitude = bits & 0x7fffffffU;
  if (magnitude > 0x7f800000U) return sign | 0x7e00U;
  if (magnitude >= 0x477ff000U) return sign | 0x7c00U;  // 65520 and above round to infinity
  if (magnitude < 0x38800000U) {                        // below 2^-14: a multiple of 2^-24, rounded by the adder
    const float shifted = bitCast<float>(magnitude) + 0.5f;
    return static_cast<uint16_t>(sign | (bitCast<uint32_t>(shifted) - 0x3f000000U));
  }
  const uint32_t rounded = magnitude + 0xfffU + ((magnitude >> 13) & 1U);
  return static_cast<uint16_t>(sign | ((rounded - 0x38000000U) >> 13));
}
#endif

struct Float16Lane {
  using Stored = uint16_t;
  using Sum = float;
  using Vector = Floats;
  static constexpr int kCount = kFloats;
#if defined(__F16C__) && NORMLENS_VECTOR_BYTES == 64
  // The unmasked intrinsics of gcc 12 start from an uninitialised register and warn about it.
  static constexpr __mmask16 kAll = 0xffff;
  static Vector load(const Stored* from) {
    const __m256i halves = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
    return bitCast<Vector>(_mm512_maskz_cvtph_ps(kAll, halves));
  }
  static void store(Stored* to, const Vector& v) {
    const __m256i out = _mm512_maskz_cvtps_ph(kAll, bitCast<__m512>(v), _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), out);
  }
#elif defined(__F16C__)
  static Vector load(const Stored* from) {
    return bitCast<Vector>(_mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from))));
  }
  static void store(Stored* to, const Vector& v) {
    const __m128i out = _mm256_cvtps_ph(bitCast<__m256>(v), _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to), out);
  }
#else
  static Vector load(const Stored* from) {
    Vector v{};
    for (int i = 0; i < kCount; ++i) v[i] = halfToFloat(from[i]);
    return v;
  }
  static void store(Stored* to, const Vector& v) {
    for (int i = 0; i < kCount; ++i) to[i] = floatToHalf(v[i]);
  }
#endif
};

}  // namespace normlens::kernels::NORMLENS_ISA
