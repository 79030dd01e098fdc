// Going over a row step by step: what a row is read from, its end, and what is fetched ahead.
#pragma once

#include "kernels/cpu/lanes.h"

namespace normlens::kernels::NORMLENS_ISA {

// Calls visit(i, k) for each whole step of a row, k counting the steps of one turn of the loop, then visitEnd(i, count)
// for what is left.
template <class Lane, int atOnce, class Visit, class VisitEnd>
NORMLENS_INLINE void forEachStep(int64_t width, const Visit& visit, const VisitEnd& visitEnd) {
  constexpr int64_t step = Lane::kStep;
  int64_t i = 0;
  for (; i + atOnce * step <= width; i += atOnce * step) {
    for (int k = 0; k < atOnce; ++k) visit(i + k * step, k);
  }
  if constexpr (atOnce > 1) {
    for (; i + step <= width; i += step) visit(i, 0);
  }
  if (i < width) visitEnd(i, width - i);
}

constexpr int64_t kCacheLine = 64;

// Step k of a turn is the first one of a line, where steps are shorter than lines.
constexpr bool startsLine(int k) { return int64_t{k} * NORMLENS_VECTOR_BYTES % kCacheLine == 0; }

// Rows that will be written are fetched for writing; rows that will be read later are fetched into the second cache,
// because the first one is full with wide rows.
template <class Stored>
NORMLENS_INLINE void fetchToWrite(const Stored* at, int k) {
  if (startsLine(k)) __builtin_prefetch(at, 1, 3);
}
template <class Stored>
NORMLENS_INLINE void fetchToRead(const Stored* at, int k) {
  if (startsLine(k)) __builtin_prefetch(at, 0, 2);
}

template <class Lane>
constexpr int64_t bytesOf(int64_t elements) {
  return elements * static_cast<int64_t>(sizeof(typename Lane::Stored));
}

// Steps of a row in memory: whole ones, or the first `count` elements of one, zeros behind them.
template <class Lane>
NORMLENS_INLINE typename Lane::Step readStep(const typename Lane::Stored* from) {
  return Lane::unpack(Lane::get(from));
}
template <class Lane>
NORMLENS_INLINE typename Lane::Step readStep(const typename Lane::Stored* from, int64_t count) {
  return Lane::unpack(loadPart<typename Lane::Packed>(from, bytesOf<Lane>(count)));
}
template <class Lane>
NORMLENS_INLINE void writeStep(typename Lane::Stored* to, const typename Lane::Step& step) {
  Lane::put(to, Lane::pack(step));
}
template <class Lane>
NORMLENS_INLINE void writeStep(typename Lane::Stored* to, const typename Lane::Step& step, int64_t count) {
  storePart(to, Lane::pack(step), bytesOf<Lane>(count));
}

// Puts zero in place of all elements but the first `count`.
template <class Lane, int... lane>
NORMLENS_INLINE typename Lane::Step firstOf(typename Lane::Step step, int64_t count,
                                            std::integer_sequence<int, lane...>) {
  using Index = typename IndexOf<typename Lane::Sum>::Type;
  using Indices = typename VectorOf<Index, Lane::kCount>::Type;
  for (int k = 0; k < Lane::kVectors; ++k) {
    const Indices first{Lane::elementAt(0, lane)...};
    const Indices place = first + static_cast<Index>(Lane::elementAt(k, 0));
    step.at[k] = bitCast<typename Lane::Vector>(bitCast<Indices>(step.at[k]) & (place < static_cast<Index>(count)));
  }
  return step;
}
template <class Lane>
NORMLENS_INLINE typename Lane::Step firstOf(const typename Lane::Step& step, int64_t count) {
  return firstOf<Lane>(step, count, std::make_integer_sequence<int, Lane::kCount>());
}

// Weight or bias of one step, in the order of Lane's: in memory as rows are, or in the type of the sums.
template <class Lane>
struct ConstantsOfRows {
  using Stored = typename Lane::Stored;
  static NORMLENS_INLINE typename Lane::Step read(const Stored* from) { return readStep<Lane>(from); }
  static NORMLENS_INLINE typename Lane::Step read(const Stored* from, int64_t count) {
    return readStep<Lane>(from, count);
  }
};

template <class Lane>
struct ConstantsOfSums {
  using Stored = typename Lane::Sum;
  using Vector = typename Lane::Vector;
  static NORMLENS_INLINE typename Lane::Step read(const Stored* from) {
    return Lane::arranged(load<typename Lane::Step>(from));
  }
  static NORMLENS_INLINE typename Lane::Step read(const Stored* from, int64_t count) {
    typename Lane::Step step{};
    int64_t left = count;
    for (int k = 0; k < Lane::kVectors && left > 0; ++k, left -= Lane::kCount) {
      const Stored* part = from + k * Lane::kCount;
      step.at[k] = left < Lane::kCount ? loadPart<Vector>(part, left * static_cast<int64_t>(sizeof(Stored)))
                                       : load<Vector>(part);
    }
    return Lane::arranged(step);
  }
};

// A row to be read: x alone, or x + residual, which is written to `sum`, rounded, as it is read.
template <class Lane>
struct PlainRow {
  const typename Lane::Stored* x;
  [[nodiscard]] NORMLENS_INLINE typename Lane::Step read(int64_t i) const { return readStep<Lane>(x + i); }
  [[nodiscard]] NORMLENS_INLINE typename Lane::Step read(int64_t i, int64_t count) const {
    return readStep<Lane>(x + i, count);
  }
};

template <class Lane>
struct SummedRow {
  using Step = typename Lane::Step;
  using Packed = typename Lane::Packed;
  const typename Lane::Stored* x;
  const typename Lane::Stored* residual;
  typename Lane::Stored* sum;
  [[nodiscard]] NORMLENS_INLINE Step read(int64_t i) const {
    const Packed packed = added(readStep<Lane>(x + i), readStep<Lane>(residual + i));
    Lane::put(sum + i, packed);
    return Lane::unpack(packed);
  }
  [[nodiscard]] NORMLENS_INLINE Step read(int64_t i, int64_t count) const {
    const Packed packed = added(readStep<Lane>(x + i, count), readStep<Lane>(residual + i, count));
    storePart(sum + i, packed, bytesOf<Lane>(count));
    return Lane::unpack(packed);
  }

 private:
  static NORMLENS_INLINE Packed added(Step a, const Step& b) {
    for (int k = 0; k < Lane::kVectors; ++k) a.at[k] += b.at[k];
    return Lane::pack(a);
  }
};

}  // namespace normlens::kernels::NORMLENS_ISA
