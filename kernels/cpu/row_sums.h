// The first reading of rows: their sums, and from them what becomes of each element.
//
// The mean that is subtracted from a row is a guess, the mean of its first elements, plus what adding up x - guess
// shows to be missing: so the digits of a large mean cancel before anything is squared. A guess that is off by more
// than twice the spread (its error in the variance would be above 4 roundings' worth) is corrected and the row added up
// again.
//
// Rows are taken in tiles of as many as a vector has lanes, or fewer: what is to be computed once for each row (a sum
// over lanes, a root, a quotient) is computed for the tile at once, one row to a lane. Which rows share a tile changes
// no bit: a lane depends on its row alone.
#pragma once

#include "kernels/cpu/row_norm.h"
#include "kernels/cpu/steps.h"

namespace normlens::kernels::NORMLENS_ISA {

constexpr bool subtractsMean(NormKind kind) { return kind == NormKind::Layer || kind == NormKind::Center; }

// `count` rows, from 1 to Lane::kCount; pointers and strides as in NormRows.
template <class Lane>
struct Tile {
  using Stored = typename Lane::Stored;
  const Stored* x = nullptr;
  int64_t xStride = 0;
  const Stored* residual = nullptr;
  int64_t residualStride = 0;
  Stored* sum = nullptr;
  Stored* y = nullptr;
  int64_t yStride = 0;
  int64_t width = 0;
  int count = 0;

  // Returns the numbers that are normalized, once they are there.
  [[nodiscard]] NORMLENS_INLINE const Stored* summed(int r) const { return sum ? sum + r * width : x + r * xStride; }
};

// Lane r is row r's. Elements become ((x - shift) - rest) * inverse, without what the kind of norm does not do.
template <class Lane>
struct TileScale {
  using Vector = typename Lane::Vector;
  Vector shift{};
  Vector rest{};
  Vector inverse{};
};

// The upper half of each run of `length` lanes is added to its lower half; first the runs of a, then those of b.
template <class Lane, int length, int... lane>
NORMLENS_INLINE typename Lane::Vector halved(const typename Lane::Vector& a, const typename Lane::Vector& b,
                                             std::integer_sequence<int, lane...>) {
  constexpr int half = length / 2;
  return __builtin_shufflevector(a, b, (lane / half * length + lane % half)...) +
         __builtin_shufflevector(a, b, (lane / half * length + lane % half + half)...);
}

// Lane r of the result is the sum over the lanes of rows[r].
template <class Lane, int count = Lane::kCount>
NORMLENS_INLINE typename Lane::Vector totals(const typename Lane::Vector* rows) {
  if constexpr (count == 1) {
    return rows[0];
  } else {
    return halved<Lane, 2 * Lane::kCount / count>(totals<Lane, count / 2>(rows),
                                                  totals<Lane, count / 2>(rows + count / 2),
                                                  std::make_integer_sequence<int, Lane::kCount>());
  }
}

// Each lane of the result is the sum over all of them, added up in the same order.
template <class Lane, int length = Lane::kCount>
NORMLENS_INLINE typename Lane::Vector total(const typename Lane::Vector& row) {
  if constexpr (length == 1) {
    return row;
  } else {
    return total<Lane, length / 2>(halved<Lane, length>(row, row, std::make_integer_sequence<int, Lane::kCount>()));
  }
}

// The lanes of up to kCount rows, one row to a vector, on their way to one row to a lane.
template <class Lane>
class RowLanes {
 public:
  using Vector = typename Lane::Vector;
  NORMLENS_INLINE void set(int r, const Vector& row) { rows_[r] = row; }
  [[nodiscard]] NORMLENS_INLINE Vector sums(int count) {
    if (count == 1) return total<Lane>(rows_[0]);
    for (int r = count; r < Lane::kCount; ++r) rows_[r] = Vector{};
    return totals<Lane>(rows_);
  }

 private:
  Vector rows_[Lane::kCount];
};

// The sums of x - shift and of its square, over a row or, one row to a lane, over the rows of a tile.
template <class Lane>
struct Moments {
  typename Lane::Vector sum{};  // not added up for Rms
  typename Lane::Vector squares{};
};

// Four running sums: the processor starts a multiply-add each cycle but takes four to finish one.
constexpr int kRunning = 4;

// y: where the row will be written; read only where it is to be fetched.
template <NormKind kind, class Lane, bool fetch, class Row>
NORMLENS_INLINE Moments<Lane> addUp(const Row& row, typename Lane::Sum shift, const typename Lane::Stored* y,
                                    int64_t width) {
  using Vector = typename Lane::Vector;
  using Step = typename Lane::Step;
  Vector sums[kRunning]{}, squares[kRunning]{};
  const auto add = [&](const Step& step, int slot) NORMLENS_INLINED {
    for (int k = 0; k < Lane::kVectors; ++k) {
      if constexpr (kind != NormKind::Rms) sums[slot + k] += step.at[k];
      squares[slot + k] += step.at[k] * step.at[k];
    }
  };
  const auto shifted = [&](Step step) NORMLENS_INLINED {
    if constexpr (subtractsMean(kind)) {
      for (int k = 0; k < Lane::kVectors; ++k) step.at[k] -= shift;
    }
    return step;
  };
  forEachStep<Lane, kRunning / Lane::kVectors>(
      width,
      [&](int64_t i, int k) NORMLENS_INLINED {
        if constexpr (fetch) fetchToWrite(y + i, k);
        add(shifted(row.read(i)), k * Lane::kVectors);
      },
      [&](int64_t i, int64_t count) NORMLENS_INLINED { add(firstOf<Lane>(shifted(row.read(i, count)), count), 0); });
  return {(sums[0] + sums[1]) + (sums[2] + sums[3]), (squares[0] + squares[1]) + (squares[2] + squares[3])};
}

// The means of the first elements. Zero where that is not finite, so that an infinity meets finite numbers as in
// torch's sums; the row is not finite either then.
template <class Lane>
NORMLENS_INLINE typename Lane::Vector guessMeans(const Tile<Lane>& tile) {
  using Vector = typename Lane::Vector;
  const int64_t count = tile.width < Lane::kStep ? tile.width : Lane::kStep;
  const auto first = [&](const typename Lane::Stored* from) NORMLENS_INLINED {
    const auto step = count == Lane::kStep ? readStep<Lane>(from) : readStep<Lane>(from, count);
    Vector v = step.at[0];
    for (int k = 1; k < Lane::kVectors; ++k) v += step.at[k];
    return v;
  };
  RowLanes<Lane> firsts;
  for (int r = 0; r < tile.count; ++r) {
    Vector v = first(tile.x + r * tile.xStride);
    if (tile.residual) v += first(tile.residual + r * tile.residualStride);
    firsts.set(r, v);
  }
  const Vector means = firsts.sums(tile.count) / static_cast<typename Lane::Sum>(count);
  return means - means == 0 ? means : Vector{};  // NOLINT(misc-redundant-expression): not of an infinity or a NaN
}

template <class Lane>
NORMLENS_INLINE typename Lane::Vector inverseRoots(const typename Lane::Vector& meanSquares, double eps) {
  using Sum = typename Lane::Sum;
  // This is a NaN that no carry can turn into a number (BFloat16Lane).
  const Sum added = __builtin_isnan(eps) ? static_cast<Sum>(__builtin_nan("")) : static_cast<Sum>(eps);
  typename Lane::Vector inverse{};
  for (int r = 0; r < Lane::kCount; ++r) {
    inverse[r] = 1 / static_cast<Sum>(__builtin_sqrt(meanSquares[r] + added));
  }
  return inverse;
}

template <NormKind kind, class Lane>
NORMLENS_INLINE TileScale<Lane> scalesOf(const Moments<Lane>& moments, const typename Lane::Vector& shift,
                                         int64_t width, double eps) {
  using Vector = typename Lane::Vector;
  const auto count = static_cast<typename Lane::Sum>(width);
  if constexpr (kind == NormKind::Rms) {
    return {.inverse = inverseRoots<Lane>(moments.squares / count, eps)};
  } else {
    const Vector rest = moments.sum / count;
    if constexpr (kind == NormKind::Center) return {.shift = shift, .rest = rest};
    const Vector variance = moments.squares / count - rest * rest;
    return {.shift = shift, .rest = rest, .inverse = inverseRoots<Lane>(variance < 0 ? Vector{} : variance, eps)};
  }
}

template <NormKind kind, class Lane>
struct TileMoments {
  RowLanes<Lane> sums;
  RowLanes<Lane> squares;

  NORMLENS_INLINE void set(int r, const Moments<Lane>& row) {
    if constexpr (kind != NormKind::Rms) sums.set(r, row.sum);
    squares.set(r, row.squares);
  }
  [[nodiscard]] NORMLENS_INLINE Moments<Lane> total(int count) {
    if constexpr (kind == NormKind::Rms) return {.squares = squares.sums(count)};
    return {sums.sums(count), squares.sums(count)};
  }
};

// Corrects guesses that are far off for what is spread around the mean: the variance would be the small difference of
// large numbers. Those rows are added up again with a better one.
template <NormKind kind, class Lane>
NORMLENS_INLINE void correctGuesses(const Tile<Lane>& tile, TileMoments<kind, Lane>& rows, Moments<Lane>& moments,
                                    typename Lane::Vector& shift) {
  const auto width = static_cast<typename Lane::Sum>(tile.width);
  const typename Lane::Vector rest = moments.sum / width;
  const auto isFarOff = rest * rest > 4 * (moments.squares / width - rest * rest);
  bool again = false;
  for (int r = 0; r < tile.count; ++r) {
    if (!isFarOff[r]) continue;
    again = true;
    shift[r] += rest[r];
    rows.set(r, addUp<kind, Lane, false>(PlainRow<Lane>{tile.summed(r)}, shift[r], nullptr, tile.width));
  }
  if (again) moments = rows.total(tile.count);
}

// fetch: the rows of y are not in the cache. One function for all that may follow.
template <NormKind kind, class Lane, bool fetch>
__attribute__((noinline)) TileScale<Lane> summarize(const Tile<Lane>& tile, double eps) {
  TileMoments<kind, Lane> rows;
  typename Lane::Vector shift{};
  if constexpr (subtractsMean(kind)) shift = guessMeans(tile);
  for (int r = 0; r < tile.count; ++r) {
    const auto* x = tile.x + r * tile.xStride;
    const auto* y = tile.y + r * tile.yStride;
    if (tile.residual) {
      const SummedRow<Lane> row{x, tile.residual + r * tile.residualStride, tile.sum + r * tile.width};
      rows.set(r, addUp<kind, Lane, fetch>(row, shift[r], y, tile.width));
    } else {
      rows.set(r, addUp<kind, Lane, fetch>(PlainRow<Lane>{x}, shift[r], y, tile.width));
    }
  }
  Moments<Lane> moments = rows.total(tile.count);
  if constexpr (subtractsMean(kind)) correctGuesses(tile, rows, moments, shift);
  return scalesOf<kind, Lane>(moments, shift, tile.width, eps);
}

}  // namespace normlens::kernels::NORMLENS_ISA
