// The row loops, once for all instruction sets; see lanes.h for how this file is compiled.
#pragma once

#include "kernels/cpu/lanes.h"
#include "kernels/cpu/rms_norm.h"

namespace normlens::kernels::NORMLENS_ISA {

// The last, incomplete vector of a row goes through a zero-padded copy: nothing outside the row is read or written.
template <class Lane>
typename Lane::Vector loadSome(const typename Lane::Stored* from, int64_t count) {
  typename Lane::Stored padded[Lane::kCount] = {};
  __builtin_memcpy(padded, from, static_cast<size_t>(count) * sizeof padded[0]);
  return Lane::load(padded);
}

template <class Lane>
void storeSome(typename Lane::Stored* to, const typename Lane::Vector& v, int64_t count) {
  typename Lane::Stored padded[Lane::kCount];
  Lane::store(padded, v);
  __builtin_memcpy(to, padded, static_cast<size_t>(count) * sizeof padded[0]);
}

// Weights and biases lie in memory in the type of the sums.
template <class Sum>
struct SumLane;
template <>
struct SumLane<float> {
  using Lane = Float32Lane;
};
template <>
struct SumLane<double> {
  using Lane = Float64Lane;
};

template <class Lane>
typename Lane::Sum total(const typename Lane::Vector& v) {
  typename Lane::Sum lanes[Lane::kCount];
  for (int i = 0; i < Lane::kCount; ++i) lanes[i] = v[i];
  for (int half = Lane::kCount / 2; half > 0; half /= 2) {
    for (int i = 0; i < half; ++i) lanes[i] += lanes[i + half];
  }
  return lanes[0];
}

// Four running sums: the processor starts a multiply-add each cycle but takes four to finish one.
constexpr int kUnroll = 4;

// Calls visit(offset, slot) for each complete vector of a row, slot cycling through the running sums, then
// visitTail(offset, count) for what is left.
template <class Lane, class Visit, class VisitTail>
inline __attribute__((always_inline)) void forEachVector(int64_t width, const Visit& visit,
                                                         const VisitTail& visitTail) {
  constexpr int64_t step = Lane::kCount;
  int64_t i = 0;
  for (; i + kUnroll * step <= width; i += kUnroll * step) {
    for (int slot = 0; slot < kUnroll; ++slot) visit(i + slot * step, slot);
  }
  for (; i + step <= width; i += step) visit(i, 0);
  if (i < width) visitTail(i, width - i);
}

// The rows that come next are asked for while this one is worked on: the processor's own guesses end at the page, which
// is a row of 1024 floats. Where a row will be written it is fetched for that, close by; the row to be read after it
// into the second cache, because the first one is full with wide rows.
inline __attribute__((always_inline)) void fetchToWrite(const void* at) { __builtin_prefetch(at, 1, 3); }
inline __attribute__((always_inline)) void fetchToRead(const void* at) { __builtin_prefetch(at, 0, 2); }

// `y`: where the row will be written.
template <class Lane>
typename Lane::Sum sumOfSquares(const typename Lane::Stored* x, const typename Lane::Stored* y, int64_t width) {
  using Vector = typename Lane::Vector;
  Vector sums[kUnroll] = {};
  const auto add = [&](const Vector& v, int slot) { sums[slot] += v * v; };
  forEachVector<Lane>(
      width,
      [&](int64_t i, int slot) {
        fetchToWrite(y + i);
        add(Lane::load(x + i), slot);
      },
      [&](int64_t i, int64_t count) { add(loadSome<Lane>(x + i, count), 0); });
  return total<Lane>((sums[0] + sums[1]) + (sums[2] + sums[3]));
}

// Writes x + residual, rounded, and sums the squares of what was written.
template <class Lane>
typename Lane::Sum addAndSumSquares(const typename Lane::Stored* x, const typename Lane::Stored* residual,
                                    typename Lane::Stored* sum, const typename Lane::Stored* y, int64_t width) {
  using Vector = typename Lane::Vector;
  Vector sums[kUnroll] = {};
  forEachVector<Lane>(
      width,
      [&](int64_t i, int slot) {
        fetchToWrite(y + i);
        Lane::store(sum + i, Lane::load(x + i) + Lane::load(residual + i));
        const Vector rounded = Lane::load(sum + i);
        sums[slot] += rounded * rounded;
      },
      [&](int64_t i, int64_t count) {
        storeSome<Lane>(sum + i, loadSome<Lane>(x + i, count) + loadSome<Lane>(residual + i, count), count);
        const Vector rounded = loadSome<Lane>(sum + i, count);
        sums[0] += rounded * rounded;
      });
  return total<Lane>((sums[0] + sums[1]) + (sums[2] + sums[3]));
}

// `next`, `nextResidual`: the row that is summed after this one; the latter may be null.
template <class Lane, bool hasWeight, bool hasBias>
void scaleRow(const typename Lane::Stored* x, typename Lane::Sum inverse, const typename Lane::Sum* weight,
              const typename Lane::Sum* bias, typename Lane::Stored* y, int64_t width,
              const typename Lane::Stored* next, const typename Lane::Stored* nextResidual) {
  using Vector = typename Lane::Vector;
  using Constants = typename SumLane<typename Lane::Sum>::Lane;
  forEachVector<Lane>(
      width,
      [&](int64_t i, int) {
        fetchToRead(next + i);
        if (nextResidual) fetchToRead(nextResidual + i);
        Vector v = Lane::load(x + i) * inverse;
        if constexpr (hasWeight) v *= Constants::load(weight + i);
        if constexpr (hasBias) v += Constants::load(bias + i);
        Lane::store(y + i, v);
      },
      [&](int64_t i, int64_t count) {
        Vector v = loadSome<Lane>(x + i, count) * inverse;
        if constexpr (hasWeight) v *= loadSome<Constants>(weight + i, count);
        if constexpr (hasBias) v += loadSome<Constants>(bias + i, count);
        storeSome<Lane>(y + i, v, count);
      });
}

template <class Lane, bool hasWeight, bool hasBias>
void normalizeRows(const RmsNormRows& rows, int64_t begin, int64_t end) {
  using Stored = typename Lane::Stored;
  using Sum = typename Lane::Sum;
  const auto* input = static_cast<const Stored*>(rows.input);
  const auto* residual = static_cast<const Stored*>(rows.residual);
  for (int64_t r = begin; r < end; ++r) {
    const int64_t next = r + 1 < end ? r + 1 : r;
    const Stored* x = input + r * rows.inputStride;
    Stored* y = static_cast<Stored*>(rows.output) + r * rows.width;
    Sum squares;
    if (residual) {
      Stored* sum = static_cast<Stored*>(rows.sum) + r * rows.width;
      squares = addAndSumSquares<Lane>(x, residual + r * rows.residualStride, sum, y, rows.width);
      x = sum;
    } else {
      squares = sumOfSquares<Lane>(x, y, rows.width);
    }
    const Sum mean = squares / static_cast<Sum>(rows.width);
    const Sum inverse = 1 / static_cast<Sum>(__builtin_sqrt(mean + static_cast<Sum>(rows.eps)));
    scaleRow<Lane, hasWeight, hasBias>(
        x, inverse, static_cast<const Sum*>(rows.weight), static_cast<const Sum*>(rows.bias), y, rows.width,
        input + next * rows.inputStride, residual ? residual + next * rows.residualStride : nullptr);
  }
}

template <class Lane>
void normalize(const RmsNormRows& rows, int64_t begin, int64_t end) {
  if (rows.weight && rows.bias) return normalizeRows<Lane, true, true>(rows, begin, end);
  if (rows.weight) return normalizeRows<Lane, true, false>(rows, begin, end);
  if (rows.bias) return normalizeRows<Lane, false, true>(rows, begin, end);
  normalizeRows<Lane, false, false>(rows, begin, end);
}

// Each including file has a namespace of its own.
// NOLINTNEXTLINE(misc-definitions-in-headers)
void rmsNormRows(Scalar scalar, const RmsNormRows& rows, int64_t begin, int64_t end) {
  switch (scalar) {
    case Scalar::Float32:
      return normalize<Float32Lane>(rows, begin, end);
    case Scalar::Float64:
      return normalize<Float64Lane>(rows, begin, end);
    case Scalar::Float16:
      return normalize<Float16Lane>(rows, begin, end);
    case Scalar::BFloat16:
      return normalize<BFloat16Lane>(rows, begin, end);
  }
}

}  // namespace normlens::kernels::NORMLENS_ISA
