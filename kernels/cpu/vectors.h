// Vectors of one instruction set, and how the end of a row, which does not fill one, is read and written.
//
// This file and those that include it are compiled by the row_norm_<isa>.cpp files only, each of which defines
// NORMLENS_ISA (a namespace name) and NORMLENS_VECTOR_BYTES first. Everything lives in that namespace and uses no
// inline function of the standard library: two files compiled for different processors must not share a symbol, or the
// linker could keep the wrong one.
#pragma once

#include <cstdint>
#include <utility>  // for types only

#if defined(__F16C__)
#include <immintrin.h>
#endif

// Functions marked so must become part of the loop that calls them.
#define NORMLENS_INLINE inline __attribute__((always_inline))
#define NORMLENS_INLINED __attribute__((always_inline))  // behind the parameters of a lambda

namespace normlens::kernels::NORMLENS_ISA {

template <class Element, int count>
struct VectorOf {
  using Type __attribute__((vector_size(count * sizeof(Element)))) = Element;
};

// An integer as wide as a number.
template <class Number>
struct IndexOf;
template <>
struct IndexOf<float> {
  using Type = int32_t;
};
template <>
struct IndexOf<double> {
  using Type = int64_t;
};

template <class To, class From>
NORMLENS_INLINE To bitCast(const From& from) {
  static_assert(sizeof(To) == sizeof(From));
  To to;
  __builtin_memcpy(&to, &from, sizeof to);
  return to;
}

template <class To>
NORMLENS_INLINE To load(const void* from) {
  To to;
  __builtin_memcpy(&to, from, sizeof to);
  return to;
}

template <class From>
NORMLENS_INLINE void store(void* to, const From& from) {
  __builtin_memcpy(to, &from, sizeof from);
}

#if NORMLENS_VECTOR_BYTES == 64
NORMLENS_INLINE __mmask64 firstBytes(int64_t bytes) { return (uint64_t{1} << bytes) - 1; }

template <class To>
NORMLENS_INLINE To loadPart(const void* from, int64_t bytes) {
  return bitCast<To>(_mm512_maskz_loadu_epi8(firstBytes(bytes), from));
}
template <class From>
NORMLENS_INLINE void storePart(void* to, const From& from, int64_t bytes) {
  _mm512_mask_storeu_epi8(to, firstBytes(bytes), bitCast<__m512i>(from));
}
#else
template <int most>
NORMLENS_INLINE void copyPart(char* to, const char* from, int64_t bytes) {
  if (bytes & most) __builtin_memcpy(to, from, most);
  const int64_t done = bytes & most;
  if constexpr (most > 1) copyPart<most / 2>(to + done, from + done, bytes);
}

// The first `bytes` bytes, fewer than a vector has; zeros behind them. Nothing else is read, or written.
template <class To>
NORMLENS_INLINE To loadPart(const void* from, int64_t bytes) {
  To to{};
  copyPart<sizeof(To) / 2>(reinterpret_cast<char*>(&to), static_cast<const char*>(from), bytes);
  return to;
}
template <class From>
NORMLENS_INLINE void storePart(void* to, const From& from, int64_t bytes) {
  copyPart<sizeof(From) / 2>(static_cast<char*>(to), reinterpret_cast<const char*>(&from), bytes);
}
#endif

}  // namespace normlens::kernels::NORMLENS_ISA
