#include "core/fold/row_kernels.h"

#include <cstring>

#include "core/graph/half.h"

// Instruction sets are chosen through the loader's indirect functions, which run before a sanitizer is ready.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__) && \
    !defined(__SANITIZE_THREAD__)
#define NORMLENS_CLONES __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define NORMLENS_CLONES
#endif
#define NORMLENS_INLINE __attribute__((always_inline)) inline

namespace normlens::fold {
namespace {

NORMLENS_INLINE double toDouble(float x) { return static_cast<double>(x); }
NORMLENS_INLINE double toDouble(double x) { return x; }
NORMLENS_INLINE double toDouble(Half x) { return static_cast<double>(graph::inlined::halfToFloat(x.bits)); }
NORMLENS_INLINE double toDouble(BFloat16 x) { return static_cast<double>(graph::inlined::bfloat16ToFloat(x.bits)); }

NORMLENS_INLINE void store(double x, float* y) { *y = static_cast<float>(x); }
NORMLENS_INLINE void store(double x, double* y) { *y = x; }
NORMLENS_INLINE void store(double x, Half* y) { y->bits = graph::inlined::floatToHalf(static_cast<float>(x)); }
NORMLENS_INLINE void store(double x, BFloat16* y) { y->bits = graph::inlined::floatToBfloat16(static_cast<float>(x)); }

// Element i of a row at any address: weights lie in their file as it is mapped.
template <class T>
NORMLENS_INLINE double element(const T* row, int64_t i) {
  T x;
  std::memcpy(&x, reinterpret_cast<const char*>(row) + i * static_cast<int64_t>(sizeof(T)), sizeof(T));
  return toDouble(x);
}

// Independent partial sums: a single running sum would wait for each addition.
template <class T>
NORMLENS_INLINE double sumOf(const T* row, int64_t n) {
  constexpr int kLanes = 32;
  double lanes[kLanes] = {};
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    for (int lane = 0; lane < kLanes; ++lane) lanes[lane] += element(row, i + lane);
  }
  double sum = 0;
  for (; i < n; ++i) sum += element(row, i);
  for (const double lane : lanes) sum += lane;
  return sum;
}

template <class T>
NORMLENS_INLINE double dotOf(const T* row, const double* s, int64_t n) {
  constexpr int kLanes = 32;
  double lanes[kLanes] = {};
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    for (int lane = 0; lane < kLanes; ++lane) lanes[lane] += element(row, i + lane) * s[i + lane];
  }
  double sum = 0;
  for (; i < n; ++i) sum += element(row, i) * s[i];
  for (const double lane : lanes) sum += lane;
  return sum;
}

template <class T>
NORMLENS_INLINE void addScaled(const T* __restrict row, double* __restrict sums, int64_t n, double factor) {
  for (int64_t i = 0; i < n; ++i) sums[i] += element(row, i) * factor;
}

template <class T>
NORMLENS_INLINE void subtractOne(const T* __restrict row, T* __restrict y, int64_t n, double mean) {
  for (int64_t i = 0; i < n; ++i) store(element(row, i) - mean, &y[i]);
}

template <class T>
NORMLENS_INLINE void subtractEach(const T* __restrict row, T* __restrict y, int64_t n, const double* __restrict means) {
  for (int64_t i = 0; i < n; ++i) store(element(row, i) - means[i], &y[i]);
}

}  // namespace

NORMLENS_CLONES double sumRow(const float* x, int64_t n) { return sumOf(x, n); }
NORMLENS_CLONES double sumRow(const double* x, int64_t n) { return sumOf(x, n); }
NORMLENS_CLONES double sumRow(const Half* x, int64_t n) { return sumOf(x, n); }
NORMLENS_CLONES double sumRow(const BFloat16* x, int64_t n) { return sumOf(x, n); }

NORMLENS_CLONES double dotRow(const float* x, const double* s, int64_t n) { return dotOf(x, s, n); }
NORMLENS_CLONES double dotRow(const double* x, const double* s, int64_t n) { return dotOf(x, s, n); }
NORMLENS_CLONES double dotRow(const Half* x, const double* s, int64_t n) { return dotOf(x, s, n); }
NORMLENS_CLONES double dotRow(const BFloat16* x, const double* s, int64_t n) { return dotOf(x, s, n); }

NORMLENS_CLONES void addScaledRow(const float* x, double* sums, int64_t n, double f) { addScaled(x, sums, n, f); }
NORMLENS_CLONES void addScaledRow(const double* x, double* sums, int64_t n, double f) { addScaled(x, sums, n, f); }
NORMLENS_CLONES void addScaledRow(const Half* x, double* sums, int64_t n, double f) { addScaled(x, sums, n, f); }
NORMLENS_CLONES void addScaledRow(const BFloat16* x, double* sums, int64_t n, double f) { addScaled(x, sums, n, f); }

NORMLENS_CLONES void subtractFromRow(const float* x, float* y, int64_t n, double mean) { subtractOne(x, y, n, mean); }
NORMLENS_CLONES void subtractFromRow(const double* x, double* y, int64_t n, double mean) { subtractOne(x, y, n, mean); }
NORMLENS_CLONES void subtractFromRow(const Half* x, Half* y, int64_t n, double mean) { subtractOne(x, y, n, mean); }
NORMLENS_CLONES void subtractFromRow(const BFloat16* x, BFloat16* y, int64_t n, double mean) {
  subtractOne(x, y, n, mean);
}

NORMLENS_CLONES void subtractMeans(const float* x, float* y, int64_t n, const double* means) {
  subtractEach(x, y, n, means);
}
NORMLENS_CLONES void subtractMeans(const double* x, double* y, int64_t n, const double* means) {
  subtractEach(x, y, n, means);
}
NORMLENS_CLONES void subtractMeans(const Half* x, Half* y, int64_t n, const double* means) {
  subtractEach(x, y, n, means);
}
NORMLENS_CLONES void subtractMeans(const BFloat16* x, BFloat16* y, int64_t n, const double* means) {
  subtractEach(x, y, n, means);
}

double widen(float x) { return toDouble(x); }
double widen(double x) { return x; }
double widen(Half x) { return toDouble(x); }
double widen(BFloat16 x) { return toDouble(x); }

template <>
float narrow<float>(double x) {
  return static_cast<float>(x);
}
template <>
double narrow<double>(double x) {
  return x;
}
template <>
Half narrow<Half>(double x) {
  return {graph::inlined::floatToHalf(static_cast<float>(x))};
}
template <>
BFloat16 narrow<BFloat16>(double x) {
  return {graph::inlined::floatToBfloat16(static_cast<float>(x))};
}

}  // namespace normlens::fold
