// The row loops, once for all kinds of norm and all instruction sets; see vectors.h for how this file is compiled.
//
// A row is read twice: to add it up (row_sums.h), and, while it is in the cache, to normalize it.
#pragma once

#include "kernels/cpu/row_sums.h"

namespace normlens::kernels::NORMLENS_ISA {

// So many rows are normalized side by side, each with a few registers of its own: weight and bias are read once for
// all.
constexpr int kSideBySide = NORMLENS_VECTOR_BYTES == 64 ? 4 : 2;

// Memory likes to be written in order: where it is the bound, side by side pays only for half types, whose weights have
// to be widened each time.
template <class Lane, bool fetch>
constexpr int rowsAtOnce() {
  return fetch && Lane::kVectors == 1 ? 1 : kSideBySide;
}

// The next rows are prefetched while these are worked on: the processor's own guesses end at the page, which is a row
// of 1024 floats. Rows that lie in the second cache anyway are not prefetched: that would cost them a third of their
// time.
constexpr int64_t kSecondCache = 1 << 20;  // bytes, half of what processors have
// A tile is read again from the first cache, where it has half of the room; but a tile of wide rows that can be
// normalized side by side is worth more than that, as long as the second cache holds it. Where memory is the bound
// tiles are short, so that reading and writing take turns often.
constexpr int64_t kTileBytes = 24 << 10;
constexpr int64_t kWideTileBytes = 256 << 10;
constexpr int64_t kFetchedTileBytes = 8 << 10;

template <class Lane, class Constants>
struct Affine {
  const typename Constants::Stored* weight = nullptr;
  const typename Constants::Stored* bias = nullptr;
};

// Rows [first, first + count) of the tile. fetch: so are the rows `ahead` rows further on.
template <NormKind kind, class Lane, class Constants, bool hasWeight, bool hasBias, bool fetch, int count>
NORMLENS_INLINE void scaleRows(const Tile<Lane>& tile, int first, const TileScale<Lane>& scales,
                               const Affine<Lane, Constants>& affine, int64_t ahead) {
  using Stored = typename Lane::Stored;
  using Step = typename Lane::Step;
  const Stored* x[count];
  Stored* y[count];
  typename Lane::Sum shift[count], rest[count], inverse[count];
  for (int r = 0; r < count; ++r) {
    x[r] = tile.summed(first + r);
    y[r] = tile.y + (first + r) * tile.yStride;
    shift[r] = scales.shift[first + r];
    rest[r] = scales.rest[first + r];
    inverse[r] = scales.inverse[first + r];
  }
  const auto finished = [&](int r, Step step, const Step& weight, const Step& bias) NORMLENS_INLINED {
    for (int k = 0; k < Lane::kVectors; ++k) {
      auto& v = step.at[k];
      if constexpr (subtractsMean(kind)) v = (v - shift[r]) - rest[r];
      if constexpr (kind != NormKind::Center) v *= inverse[r];
      if constexpr (hasWeight) v *= weight.at[k];
      if constexpr (hasBias) v += bias.at[k];
    }
    return step;
  };
  constexpr int atOnce = count > 1 ? 1 : 4 / Lane::kVectors;
  forEachStep<Lane, atOnce>(
      tile.width,
      [&](int64_t i, int k) NORMLENS_INLINED {
        Step weight, bias;
        if constexpr (hasWeight) weight = Constants::read(affine.weight + i);
        if constexpr (hasBias) bias = Constants::read(affine.bias + i);
        for (int r = 0; r < count; ++r) {
          if constexpr (fetch) {
            fetchToRead(tile.x + (first + r + ahead) * tile.xStride + i, k);
            if (tile.residual) fetchToRead(tile.residual + (first + r + ahead) * tile.residualStride + i, k);
          }
          writeStep<Lane>(y[r] + i, finished(r, readStep<Lane>(x[r] + i), weight, bias));
        }
      },
      [&](int64_t i, int64_t left) NORMLENS_INLINED {
        Step weight, bias;
        if constexpr (hasWeight) weight = Constants::read(affine.weight + i, left);
        if constexpr (hasBias) bias = Constants::read(affine.bias + i, left);
        for (int r = 0; r < count; ++r) {
          writeStep<Lane>(y[r] + i, finished(r, readStep<Lane>(x[r] + i, left), weight, bias), left);
        }
      });
}

template <NormKind kind, class Lane, class Constants, bool hasWeight, bool hasBias, bool fetch>
NORMLENS_INLINE void scaleTile(const Tile<Lane>& tile, const TileScale<Lane>& scales,
                               const Affine<Lane, Constants>& affine, int64_t ahead) {
  constexpr int atOnce = rowsAtOnce<Lane, fetch>();
  int first = 0;
  for (; first + atOnce <= tile.count; first += atOnce) {
    scaleRows<kind, Lane, Constants, hasWeight, hasBias, fetch, atOnce>(tile, first, scales, affine, ahead);
  }
  for (; first < tile.count; ++first) {
    scaleRows<kind, Lane, Constants, hasWeight, hasBias, fetch, 1>(tile, first, scales, affine, ahead);
  }
}

template <class Lane>
Tile<Lane> tileAt(const NormRows& rows, int64_t r, int64_t count) {
  using Stored = typename Lane::Stored;
  Tile<Lane> tile{.x = static_cast<const Stored*>(rows.input) + r * rows.inputStride,
                  .xStride = rows.inputStride,
                  .y = static_cast<Stored*>(rows.output) + r * rows.width,
                  .yStride = rows.width,
                  .width = rows.width,
                  .count = static_cast<int>(count)};
  if (rows.residual) {
    tile.residual = static_cast<const Stored*>(rows.residual) + r * rows.residualStride;
    tile.residualStride = rows.residualStride;
    tile.sum = static_cast<Stored*>(rows.sum) + r * rows.width;
  }
  return tile;
}

// Rows of two or three to the first cache are better read again from there, unless their weights have to be widened.
template <class Lane>
bool isWideTile(int64_t bytes) {
  return bytes <= kWideTileBytes && (Lane::kVectors > 1 || bytes > 2 * kTileBytes);
}

// Returns how many rows a tile has: whole groups side by side where they fit.
template <class Lane>
int64_t rowsOfTile(int64_t width, bool fetch) {
  const int64_t group = kSideBySide * bytesOf<Lane>(width);
  const int64_t groups = (fetch ? kFetchedTileBytes : kTileBytes) / group;
  if (groups < 1) return !fetch && isWideTile<Lane>(group) ? kSideBySide : 1;
  return groups * kSideBySide < Lane::kCount ? groups * kSideBySide : Lane::kCount;
}

template <NormKind kind, class Lane, class Constants, bool hasWeight, bool hasBias>
void normalizeAs(const NormRows& rows, int64_t begin, int64_t end) {
  using Constant = typename Constants::Stored;
  const Affine<Lane, Constants> affine{static_cast<const Constant*>(rows.weight),
                                       static_cast<const Constant*>(rows.bias)};
  const bool fetch = 2 * (end - begin) * bytesOf<Lane>(rows.width) > kSecondCache;
  const int64_t most = rowsOfTile<Lane>(rows.width, fetch);
  for (int64_t r = begin; r < end; r += most) {
    const auto tile = tileAt<Lane>(rows, r, end - r < most ? end - r : most);
    const TileScale<Lane> scales =
        fetch ? summarize<kind, Lane, true>(tile, rows.eps) : summarize<kind, Lane, false>(tile, rows.eps);
    if (fetch && r + most + tile.count <= end) {
      scaleTile<kind, Lane, Constants, hasWeight, hasBias, true>(tile, scales, affine, most);
    } else {
      scaleTile<kind, Lane, Constants, hasWeight, hasBias, false>(tile, scales, affine, 0);
    }
  }
}

template <NormKind kind, class Lane, class Constants>
void normalizeWith(const NormRows& rows, int64_t begin, int64_t end) {
  if (rows.weight && rows.bias) return normalizeAs<kind, Lane, Constants, true, true>(rows, begin, end);
  if (rows.weight) return normalizeAs<kind, Lane, Constants, true, false>(rows, begin, end);
  if (rows.bias) return normalizeAs<kind, Lane, Constants, false, true>(rows, begin, end);
  normalizeAs<kind, Lane, Constants, false, false>(rows, begin, end);
}

template <NormKind kind, class Lane>
void normalizeKind(const NormRows& rows, int64_t begin, int64_t end) {
  if constexpr (sizeof(typename Lane::Stored) < sizeof(typename Lane::Sum)) {
    if (rows.constants == ConstantType::OfSums) {
      return normalizeWith<kind, Lane, ConstantsOfSums<Lane>>(rows, begin, end);
    }
  }
  normalizeWith<kind, Lane, ConstantsOfRows<Lane>>(rows, begin, end);
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
