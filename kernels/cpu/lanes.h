// Describes how each scalar type lies in memory and in vectors of the type of its sums. See vectors.h for how this is
// compiled.
#pragma once

#include "kernels/cpu/vectors.h"

namespace normlens::kernels::NORMLENS_ISA {

constexpr int kFloats = NORMLENS_VECTOR_BYTES / 4;

// Stored is an element in memory, Sum the type of sums, Vector holds kCount of Sum. Rows are read and written in steps
// of kStep elements: Packed as they lie in memory, Step as kVectors vectors, from which one goes to the other by pack
// and unpack.
template <class StoredType, class SumType>
struct LaneOf {
  using Stored = StoredType;
  using Sum = SumType;
  static constexpr int kVectors = sizeof(Sum) / sizeof(Stored);  // NOLINT(bugprone-sizeof-expression)
  static constexpr int kCount = NORMLENS_VECTOR_BYTES / sizeof(Sum);
  static constexpr int kStep = kVectors * kCount;
  using Vector = typename VectorOf<Sum, kCount>::Type;
  using Packed = typename VectorOf<Stored, kStep>::Type;
  struct Step {
    Vector at[kVectors];
  };
  // Returns which element of the step is in that lane of that vector.
  static constexpr int elementAt(int vector, int lane) { return vector * kCount + lane; }
  static NORMLENS_INLINE Packed get(const Stored* from) { return load<Packed>(from); }
  static NORMLENS_INLINE void put(Stored* to, const Packed& packed) { store(to, packed); }
  // Takes a step whose elements are in order.
  static NORMLENS_INLINE Step arranged(const Step& inOrder) { return inOrder; }
};

template <class Scalar>
struct WholeLane : LaneOf<Scalar, Scalar> {
  using typename LaneOf<Scalar, Scalar>::Packed;
  using typename LaneOf<Scalar, Scalar>::Step;
  static NORMLENS_INLINE Step unpack(const Packed& packed) { return {{packed}}; }
  static NORMLENS_INLINE Packed pack(const Step& step) { return step.at[0]; }
};
using Float32Lane = WholeLane<float>;
using Float64Lane = WholeLane<double>;

// A bfloat16 is the upper half of a float, and two neighbors in memory share a word: one vector takes the first ones
// of all words, the other the second ones, and nothing moves from lane to lane.
struct BFloat16Lane : LaneOf<uint16_t, float> {
  using Words = VectorOf<uint32_t, kFloats>::Type;
  static constexpr uint32_t kUpperHalf = 0xffff0000U;

  static constexpr int elementAt(int vector, int lane) { return 2 * lane + vector; }
  static NORMLENS_INLINE Step unpack(const Packed& packed) {
    const auto words = bitCast<Words>(packed);
    return {{bitCast<Vector>(words << 16), bitCast<Vector>(words & kUpperHalf)}};
  }
  static NORMLENS_INLINE Packed pack(const Step& step) {
    return bitCast<Packed>((rounded(step.at[0]) >> 16) | (rounded(step.at[1]) & kUpperHalf));
  }
  static NORMLENS_INLINE Step arranged(const Step& inOrder) {
    const Step plain{{withoutPayload(inOrder.at[0]), withoutPayload(inOrder.at[1])}};
    return everySecond(plain, std::make_integer_sequence<int, kCount>());
  }

 private:
  // Rounds to nearest, ties to even, in the upper half. The carry would turn a NaN with a long payload into a number;
  // none has one: the processor's are short, as are those of bfloat16, and arranged() shortens those of floats.
  static NORMLENS_INLINE Words rounded(const Vector& v) {
    const auto bits = bitCast<Words>(v);
    return bits + 0x7fffU + ((bits >> 16) & 1U);
  }
  static NORMLENS_INLINE Vector withoutPayload(const Vector& v) {
    const auto isNan = bitCast<Words>(v != v);
    return bitCast<Vector>((bitCast<Words>(v) & ~isNan) | (isNan & 0x7fc00000U));
  }
  template <int... lane>
  static NORMLENS_INLINE Step everySecond(const Step& v, std::integer_sequence<int, lane...>) {
    return {{__builtin_shufflevector(v.at[0], v.at[1], (2 * lane)...),
             __builtin_shufflevector(v.at[0], v.at[1], (2 * lane + 1)...)}};
  }
};

#if !defined(__F16C__)
// IEEE binary16 by integer arithmetic, for processors without the instruction.
inline float halfToFloat(uint16_t half) {
  const uint32_t sign = static_cast<uint32_t>(half & 0x8000U) << 16;
  const uint32_t exponent = (half >> 10) & 0x1fU;
  const uint32_t mantissa = half & 0x3ffU;
  if (exponent == 0) {
    const float magnitude = static_cast<float>(mantissa) * 0x1p-24F;  // zero and subnormals
    return bitCast<float>(bitCast<uint32_t>(magnitude) | sign);
  }
  const uint32_t wide = exponent == 31 ? 0xffU : exponent + 112U;
  return bitCast<float>(sign | (wide << 23) | (mantissa << 13));
}

inline uint16_t floatToHalf(float value) {
  const auto bits = bitCast<uint32_t>(value);
  const auto sign = static_cast<uint16_t>((bits >> 16) & 0x8000U);
  const uint32_t magnitude = bits & 0x7fffffffU;
  if (magnitude > 0x7f800000U) return sign | 0x7e00U;
  if (magnitude >= 0x477ff000U) return sign | 0x7c00U;  // 65520 and above round to infinity
  if (magnitude < 0x38800000U) {                        // below 2^-14: a multiple of 2^-24, rounded by the adder
    const float shifted = bitCast<float>(magnitude) + 0.5F;
    return static_cast<uint16_t>(sign | (bitCast<uint32_t>(shifted) - 0x3f000000U));
  }
  const uint32_t rounded = magnitude + 0xfffU + ((magnitude >> 13) & 1U);
  return static_cast<uint16_t>(sign | ((rounded - 0x38000000U) >> 13));
}
#endif

struct Float16Lane : LaneOf<uint16_t, float> {
  using Halves = VectorOf<uint16_t, kCount>::Type;
  struct Packed {  // in memory as one vector, in registers as the two that the conversions take and give
    Halves at[kVectors];
  };
  static NORMLENS_INLINE Packed get(const Stored* from) { return {{load<Halves>(from), load<Halves>(from + kCount)}}; }
  static NORMLENS_INLINE void put(Stored* to, const Packed& packed) {
    store(to, packed.at[0]);
    store(to + kCount, packed.at[1]);
  }
  static NORMLENS_INLINE Step unpack(const Packed& packed) { return {{widened(packed.at[0]), widened(packed.at[1])}}; }
  static NORMLENS_INLINE Packed pack(const Step& step) { return {{narrowed(step.at[0]), narrowed(step.at[1])}}; }

 private:
#if defined(__F16C__) && NORMLENS_VECTOR_BYTES == 64
  // The unmasked intrinsics of gcc 12 start from an uninitialized register and warn about it.
  static constexpr __mmask16 kAll = 0xffff;
  static NORMLENS_INLINE Vector widened(const Halves& halves) {
    return bitCast<Vector>(_mm512_maskz_cvtph_ps(kAll, bitCast<__m256i>(halves)));
  }
  static NORMLENS_INLINE Halves narrowed(const Vector& v) {
    return bitCast<Halves>(
        _mm512_maskz_cvtps_ph(kAll, bitCast<__m512>(v), _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
  }
#elif defined(__F16C__)
  static NORMLENS_INLINE Vector widened(const Halves& halves) {
    return bitCast<Vector>(_mm256_cvtph_ps(bitCast<__m128i>(halves)));
  }
  static NORMLENS_INLINE Halves narrowed(const Vector& v) {
    return bitCast<Halves>(_mm256_cvtps_ph(bitCast<__m256>(v), _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
  }
#else
  static __attribute__((noinline)) Vector widened(const Halves& halves) {
    Vector v{};
    for (int i = 0; i < kCount; ++i) v[i] = halfToFloat(halves[i]);
    return v;
  }
  static __attribute__((noinline)) Halves narrowed(const Vector& v) {
    Halves halves{};
    for (int i = 0; i < kCount; ++i) halves[i] = floatToHalf(v[i]);
    return halves;
  }
#endif
};

}  // namespace normlens::kernels::NORMLENS_ISA
