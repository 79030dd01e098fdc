// The row loops, once for all kinds of norm and all instruction sets; see lanes.h for how this file is compiled.
//
// A row is read twice: to add it up, and, while it is in the cache, to normalise it. What is subtracted as its mean is
// a guess, the mean of its first elements, plus what adding up x - guess shows to be missing: so the digits of a large
// mean cancel before anything is squared. A guess that is off by more than twice the spread (its error in the variance
// would be above 4 roundings' worth) is corrected and the row added up again.
#pragma once

#include "kernels/cpu/lanes.h"
#include "kernels/cpu/row_norm.h"

namespace normlens::kernels::NORMLENS_ISA {

constexpr bool subtractsMean(NormKind kind) { return kind == NormKind::Layer || kind == NormKind::Center; }

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

template <class Half>
struct Halves {
  Half lower, upper;
};

// The first `count` lanes, zero in the others.
template <class Lane>
typename Lane::Vector firstLanes(const typename Lane::Vector& v, int64_t count) {
  typename Lane::Vector kept{};
  __builtin_memcpy(&kept, &v, static_cast<size_t>(count) * sizeof(typename Lane::Sum));
  return kept;
}

// Of numbers that lie in memory in the type of the sums.
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

// The upper half is added to the lower one until one lane is left: in registers, where an array would go through
// memory.
template <class Sum, int count>
inline __attribute__((always_inline)) Sum totalOf(const typename VectorOf<Sum, count>::Type& v) {
  if constexpr (count == 1) {
    return v[0];
  } else {
    using Half = typename VectorOf<Sum, count / 2>::Type;
    const auto halves = bitCast<Halves<Half>>(v);
    return totalOf<Sum, count / 2>(halves.lower + halves.upper);
  }
}

template <class Lane>
typename Lane::Sum total(const typename Lane::Vector& v) {
  return totalOf<typename Lane::Sum, Lane::kCount>(v);
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
// into the second cache, because the first one is full with wide rows. Rows that lie in the second cache anyway are not
// asked for: that would cost them a third of their time.
constexpr int64_t kSecondCache = 1 << 20;  // bytes, half of what processors have
constexpr int64_t kCacheLine = 64;

// The vector of `slot` is the first one of a line, where vectors are shorter than lines.
template <class Lane>
constexpr bool startsLine(int slot) {
  return slot * Lane::kCount * static_cast<int64_t>(sizeof(typename Lane::Stored)) % kCacheLine == 0;
}
template <class Lane>
inline __attribute__((always_inline)) void fetchToWrite(const typename Lane::Stored* at, int64_t i, int slot) {
  if (at && startsLine<Lane>(slot)) __builtin_prefetch(at + i, 1, 3);
}
template <class Lane>
inline __attribute__((always_inline)) void fetchToRead(const typename Lane::Stored* at, int64_t i, int slot) {
  if (at && startsLine<Lane>(slot)) __builtin_prefetch(at + i, 0, 2);
}

// A row to be read: x alone, or x + residual, which is written to `sum`, rounded, as it is read.
template <class Lane>
struct PlainRow {
  using Stored = typename Lane::Stored;
  const Stored* x;
  typename Lane::Vector all(int64_t i) const { return Lane::load(x + i); }
  typename Lane::Vector some(int64_t i, int64_t count) const { return loadSome<Lane>(x + i, count); }
};

template <class Lane>
struct SummedRow {
  using Stored = typename Lane::Stored;
  const Stored* x;
  const Stored* residual;
  Stored* sum;
  typename Lane::Vector all(int64_t i) const {
    Lane::store(sum + i, Lane::load(x + i) + Lane::load(residual + i));
    return Lane::load(sum + i);
  }
  typename Lane::Vector some(int64_t i, int64_t count) const {
    storeSome<Lane>(sum + i, loadSome<Lane>(x + i, count) + loadSome<Lane>(residual + i, count), count);
    return loadSome<Lane>(sum + i, count);
  }
};

// Of x - shift over a row.
template <class Sum>
struct Moments {
  Sum sum = 0;  // not added up for Rms
  Sum squares = 0;
};

// `y`: where the row will be written; null: it is in the cache. `kept`: where the row goes in the type of the sums, so
// that it is not widened again; null: nowhere.
template <NormKind kind, class Lane, class Row>
Moments<typename Lane::Sum> addUp(const Row& row, typename Lane::Sum shift, const typename Lane::Stored* y,
                                  typename Lane::Sum* kept, int64_t width) {
  using Vector = typename Lane::Vector;
  Vector sums[kUnroll] = {};
  Vector squares[kUnroll] = {};
  const auto add = [&](const Vector& v, int slot) {
    if constexpr (kind != NormKind::Rms) sums[slot] += v;
    squares[slot] += v * v;
  };
  forEachVector<Lane>(
      width,
      [&](int64_t i, int slot) {
        fetchToWrite<Lane>(y, i, slot);
        Vector v = row.all(i);
        if (kept) __builtin_memcpy(kept + i, &v, sizeof v);
        if constexpr (subtractsMean(kind)) v -= shift;
        add(v, slot);
      },
      [&](int64_t i, int64_t count) {
        Vector v = row.some(i, count);
        if (kept) __builtin_memcpy(kept + i, &v, static_cast<size_t>(count) * sizeof kept[0]);
        if constexpr (subtractsMean(kind)) v = firstLanes<Lane>(v - shift, count);
        add(v, 0);
      });
  Moments<typename Lane::Sum> moments;
  if constexpr (kind != NormKind::Rms) moments.sum = total<Lane>((sums[0] + sums[1]) + (sums[2] + sums[3]));
  moments.squares = total<Lane>((squares[0] + squares[1]) + (squares[2] + squares[3]));
  return moments;
}

// The mean of the first elements. Zero where that is not finite, so that an infinity meets finite numbers as in torch's
// sums; the row is not finite either then.
template <class Lane>
typename Lane::Sum guessMean(const typename Lane::Stored* x, const typename Lane::Stored* residual, int64_t width) {
  using Sum = typename Lane::Sum;
  const int64_t count = width < Lane::kCount ? width : Lane::kCount;
  const auto first = [&](const typename Lane::Stored* from) {
    return count == Lane::kCount ? Lane::load(from) : loadSome<Lane>(from, count);
  };
  typename Lane::Vector v = first(x);
  if (residual) v += first(residual);
  const Sum mean = total<Lane>(v) / static_cast<Sum>(count);
  return __builtin_isfinite(mean) ? mean : 0;
}

// What becomes of each element: ((x - shift) - rest) * inverse, without what the kind of norm does not do.
template <class Sum>
struct RowScale {
  Sum shift = 0;
  Sum rest = 0;
  Sum inverse = 1;
  Sum last = 0;  // Crms: the element that the row stands for without holding it, normalised
};

template <class Sum>
Sum inverseRoot(Sum meanSquare, double eps) {
  return 1 / static_cast<Sum>(__builtin_sqrt(meanSquare + static_cast<Sum>(eps)));
}

template <NormKind kind, class Sum>
RowScale<Sum> scaleOf(const Moments<Sum>& moments, Sum shift, int64_t width, double eps) {
  const Sum count = static_cast<Sum>(width);
  if constexpr (kind == NormKind::Rms) {
    return {.inverse = inverseRoot(moments.squares / count, eps)};
  } else if constexpr (kind == NormKind::Crms) {
    const Sum squares = moments.squares + moments.sum * moments.sum;
    const Sum inverse = inverseRoot(squares / (count + 1), eps);
    return {.inverse = inverse, .last = -moments.sum * inverse};
  } else {
    const Sum rest = moments.sum / count;
    if constexpr (kind == NormKind::Center) return {.shift = shift, .rest = rest};
    const Sum variance = moments.squares / count - rest * rest;
    return {.shift = shift, .rest = rest, .inverse = inverseRoot(variance < 0 ? Sum{0} : variance, eps)};
  }
}

// Far off for what is spread around the mean: the variance would be the small difference of large numbers.
template <class Sum>
bool isFarOff(const Moments<Sum>& moments, int64_t width) {
  const Sum count = static_cast<Sum>(width);
  const Sum rest = moments.sum / count;
  return rest * rest > 4 * (moments.squares / count - rest * rest);
}

// `next`, `nextResidual`: the row that is summed after this one; null: it is in the cache, or there is none.
// Source: the lane of x, which is Lane or that of a row that was kept.
template <NormKind kind, class Lane, class Source, class Constants, bool hasWeight, bool hasBias>
void scaleRow(const typename Source::Stored* x, const RowScale<typename Lane::Sum>& scale,
              const typename Constants::Stored* weight, const typename Constants::Stored* bias,
              typename Lane::Stored* y, int64_t width, const typename Lane::Stored* next,
              const typename Lane::Stored* nextResidual) {
  using Vector = typename Lane::Vector;
  const auto scaled = [&](Vector v) {
    if constexpr (subtractsMean(kind)) v = (v - scale.shift) - scale.rest;
    if constexpr (kind != NormKind::Center) v *= scale.inverse;
    return v;
  };
  forEachVector<Lane>(
      width,
      [&](int64_t i, int slot) {
        fetchToRead<Lane>(next, i, slot);
        fetchToRead<Lane>(nextResidual, i, slot);
        Vector v = scaled(Source::load(x + i));
        if constexpr (hasWeight) v *= Constants::load(weight + i);
        if constexpr (hasBias) v += Constants::load(bias + i);
        Lane::store(y + i, v);
      },
      [&](int64_t i, int64_t count) {
        Vector v = scaled(loadSome<Source>(x + i, count));
        if constexpr (hasWeight) v *= loadSome<Constants>(weight + i, count);
        if constexpr (hasBias) v += loadSome<Constants>(bias + i, count);
        storeSome<Lane>(y + i, v, count);
      });
}

template <NormKind kind, class Lane>
RowScale<typename Lane::Sum> summarize(const typename Lane::Stored* x, const typename Lane::Stored* residual,
                                       typename Lane::Stored* sum, const typename Lane::Stored* y,
                                       typename Lane::Sum* kept, const NormRows& rows) {
  using Sum = typename Lane::Sum;
  Sum shift = 0;
  if constexpr (subtractsMean(kind)) shift = guessMean<Lane>(x, residual, rows.width);
  Moments<Sum> moments = residual ? addUp<kind, Lane>(SummedRow<Lane>{x, residual, sum}, shift, y, kept, rows.width)
                                  : addUp<kind, Lane>(PlainRow<Lane>{x}, shift, y, kept, rows.width);
  if constexpr (subtractsMean(kind)) {
    if (isFarOff(moments, rows.width)) {
      shift += moments.sum / static_cast<Sum>(rows.width);
      moments = addUp<kind, Lane>(PlainRow<Lane>{residual ? sum : x}, shift, y, nullptr, rows.width);
    }
  }
  return scaleOf<kind>(moments, shift, rows.width, rows.eps);
}

template <class Lane, class Constants>
void storeLast(const NormRows& rows, typename Lane::Sum value, typename Lane::Stored* y) {
  using Constant = typename Constants::Stored;
  if (rows.weight) value *= loadSome<Constants>(static_cast<const Constant*>(rows.weight) + rows.width, 1)[0];
  if (rows.bias) value += loadSome<Constants>(static_cast<const Constant*>(rows.bias) + rows.width, 1)[0];
  storeSome<Lane>(y + rows.width, typename Lane::Vector{} + value, 1);
}

// Rows and constants below this width are widened once, into memory on the stack that stays in the first cache.
constexpr int64_t kWidened = 4098;  // 4096 and one more
constexpr int64_t kRowsWorthWidening = 4;

// Kept: what a row is kept as between its two readings; Lane itself where it is read again as it is.
template <NormKind kind, class Lane, class Kept, class Constants, bool hasWeight, bool hasBias>
void normalizeAs(const NormRows& rows, int64_t begin, int64_t end) {
  constexpr bool keeps = !__is_same(Kept, Lane);
  using Stored = typename Lane::Stored;
  using Sum = typename Lane::Sum;
  using Constant = typename Constants::Stored;
  const auto* input = static_cast<const Stored*>(rows.input);
  const auto* residuals = static_cast<const Stored*>(rows.residual);
  Sum memory[keeps ? kWidened : 1];
  Sum* const kept = keeps ? memory : nullptr;
  const bool inCache = 2 * (end - begin) * rows.width * static_cast<int64_t>(sizeof(Stored)) <= kSecondCache;
  for (int64_t r = begin; r < end; ++r) {
    const bool fetchNext = !inCache && r + 1 < end;
    const Stored* x = input + r * rows.inputStride;
    const Stored* residual = residuals ? residuals + r * rows.residualStride : nullptr;
    Stored* sum = residual ? static_cast<Stored*>(rows.sum) + r * rows.width : nullptr;
    Stored* y = static_cast<Stored*>(rows.output) + r * rows.outputWidth;
    const RowScale<Sum> scale = summarize<kind, Lane>(x, residual, sum, inCache ? nullptr : y, kept, rows);
    const auto* again = [&] {
      if constexpr (keeps)
        return static_cast<const Sum*>(memory);
      else
        return residual ? static_cast<const Stored*>(sum) : x;
    }();
    scaleRow<kind, Lane, Kept, Constants, hasWeight, hasBias>(
        again, scale, static_cast<const Constant*>(rows.weight), static_cast<const Constant*>(rows.bias), y, rows.width,
        fetchNext ? x + rows.inputStride : nullptr, fetchNext && residual ? residual + rows.residualStride : nullptr);
    if constexpr (kind == NormKind::Crms) {
      if (rows.outputWidth > rows.width) storeLast<Lane, Constants>(rows, scale.last, y);
    }
  }
}

template <NormKind kind, class Lane, class Kept, class Constants>
void normalizeWith(const NormRows& rows, int64_t begin, int64_t end) {
  if (rows.weight && rows.bias) return normalizeAs<kind, Lane, Kept, Constants, true, true>(rows, begin, end);
  if (rows.weight) return normalizeAs<kind, Lane, Kept, Constants, true, false>(rows, begin, end);
  if (rows.bias) return normalizeAs<kind, Lane, Kept, Constants, false, true>(rows, begin, end);
  normalizeAs<kind, Lane, Kept, Constants, false, false>(rows, begin, end);
}

// Widening is exact: the results are those of the narrow constants.
template <class Lane>
const void* widened(const void* constants, int64_t count, typename Lane::Sum* to) {
  if (!constants) return nullptr;
  const auto* from = static_cast<const typename Lane::Stored*>(constants);
  forEachVector<Lane>(
      count,
      [&](int64_t i, int) {
        const typename Lane::Vector v = Lane::load(from + i);
        __builtin_memcpy(to + i, &v, sizeof v);
      },
      [&](int64_t i, int64_t left) {
        const typename Lane::Vector v = loadSome<Lane>(from + i, left);
        __builtin_memcpy(to + i, &v, static_cast<size_t>(left) * sizeof to[0]);
      });
  return to;
}

template <NormKind kind, class Lane>
void normalizeNarrow(const NormRows& rows, int64_t begin, int64_t end) {
  using Sum = typename Lane::Sum;
  using OfSums = typename SumLane<Sum>::Lane;
  const bool once = rows.constants == ConstantType::OfRows && end - begin < kRowsWorthWidening;
  if (rows.width >= kWidened || once) {  // the output may be wider by one
    if (rows.constants == ConstantType::OfSums) return normalizeWith<kind, Lane, Lane, OfSums>(rows, begin, end);
    return normalizeWith<kind, Lane, Lane, Lane>(rows, begin, end);
  }
  if (rows.constants == ConstantType::OfSums) return normalizeWith<kind, Lane, OfSums, OfSums>(rows, begin, end);
  Sum weight[kWidened], bias[kWidened];
  NormRows wide = rows;
  wide.constants = ConstantType::OfSums;
  wide.weight = widened<Lane>(rows.weight, rows.outputWidth, weight);
  wide.bias = widened<Lane>(rows.bias, rows.outputWidth, bias);
  normalizeWith<kind, Lane, OfSums, OfSums>(wide, begin, end);
}

template <NormKind kind, class Lane>
void normalizeKind(const NormRows& rows, int64_t begin, int64_t end) {
  if constexpr (sizeof(typename Lane::Stored) < sizeof(typename Lane::Sum)) {
    normalizeNarrow<kind, Lane>(rows, begin, end);
  } else {
    normalizeWith<kind, Lane, Lane, Lane>(rows, begin, end);
  }
}

template <class Lane>
void normalize(const NormRows& rows, int64_t begin, int64_t end) {
  switch (rows.kind) {
    case NormKind::Rms:
      return normalizeKind<NormKind::Rms, Lane>(rows, begin, end);
    case NormKind::Layer:
      return normalizeKind<NormKind::Layer, Lane>(rows, begin, end);
    case NormKind::Center:
      return normalizeKind<NormKind::Center, Lane>(rows, begin, end);
    case NormKind::Crms:
      return normalizeKind<NormKind::Crms, Lane>(rows, begin, end);
  }
}

// Each including file has a namespace of its own.
// NOLINTNEXTLINE(misc-definitions-in-headers)
void normalizeRows(Scalar scalar, const NormRows& rows, int64_t begin, int64_t end) {
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
