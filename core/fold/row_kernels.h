// The inner loops of centering and absorbing, one set per element type, compiled for several instruction sets and
// chosen at start.
//
// All rows have unit stride. Sums are carried in float64. float16 and bfloat16 are raw bit patterns. What is read may
// start at any address (a tensor inside a mapped file); what is written is aligned.
#pragma once

#include <cstdint>

namespace normlens::fold {

struct Half {
  uint16_t bits;
};
struct BFloat16 {
  uint16_t bits;
};

// Sum of x[0..n).
[[nodiscard]] double sumRow(const float* x, int64_t n);
[[nodiscard]] double sumRow(const double* x, int64_t n);
[[nodiscard]] double sumRow(const Half* x, int64_t n);
[[nodiscard]] double sumRow(const BFloat16* x, int64_t n);

// Sum of x[i] * s[i].
[[nodiscard]] double dotRow(const float* x, const double* s, int64_t n);
[[nodiscard]] double dotRow(const double* x, const double* s, int64_t n);
[[nodiscard]] double dotRow(const Half* x, const double* s, int64_t n);
[[nodiscard]] double dotRow(const BFloat16* x, const double* s, int64_t n);

// sums[i] += x[i] * factor.
void addScaledRow(const float* x, double* sums, int64_t n, double factor);
void addScaledRow(const double* x, double* sums, int64_t n, double factor);
void addScaledRow(const Half* x, double* sums, int64_t n, double factor);
void addScaledRow(const BFloat16* x, double* sums, int64_t n, double factor);

// y[i] = x[i] - mean.
void subtractFromRow(const float* x, float* y, int64_t n, double mean);
void subtractFromRow(const double* x, double* y, int64_t n, double mean);
void subtractFromRow(const Half* x, Half* y, int64_t n, double mean);
void subtractFromRow(const BFloat16* x, BFloat16* y, int64_t n, double mean);

// y[i] = x[i] - means[i].
void subtractMeans(const float* x, float* y, int64_t n, const double* means);
void subtractMeans(const double* x, double* y, int64_t n, const double* means);
void subtractMeans(const Half* x, Half* y, int64_t n, const double* means);
void subtractMeans(const BFloat16* x, BFloat16* y, int64_t n, const double* means);

// One element as float64 and back, rounded to nearest.
[[nodiscard]] double widen(float x);
[[nodiscard]] double widen(double x);
[[nodiscard]] double widen(Half x);
[[nodiscard]] double widen(BFloat16 x);
template <class T>
[[nodiscard]] T narrow(double x);

}  // namespace normlens::fold
