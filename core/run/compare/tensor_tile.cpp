#include "core/run/compare/tensor_tile.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace normlens::run {
namespace {

class Cells {
 public:
  Cells(const Tile& tile, int mostRows, int mostColumns)
      : tile_(tile),
        rows_(static_cast<int>(std::min<int64_t>(tile.rows, mostRows))),
        columns_(static_cast<int>(std::min<int64_t>(tile.columns, mostColumns))),
        sumA_(size()),
        sumB_(size()),
        countA_(size()),
        countB_(size()),
        difference_(size()) {}

  void add(int64_t row, int64_t column, double a, double b) {
    const size_t cell = static_cast<size_t>((row - tile_.row) * rows_ / tile_.rows) * static_cast<size_t>(columns_) +
                        static_cast<size_t>((column - tile_.column) * columns_ / tile_.columns);
    if (std::isfinite(a)) sumA_[cell] += a, ++countA_[cell];
    if (std::isfinite(b)) sumB_[cell] += b, ++countB_[cell];
    const bool same = a == b || (std::isnan(a) && std::isnan(b));
    if (same) return;
    const double apart = std::isfinite(a) && std::isfinite(b) ? std::abs(a - b) : kInfinity;
    difference_[cell] = std::max(difference_[cell], apart);
  }

  TilePicture take() {
    TilePicture picture;
    picture.rows = rows_;
    picture.columns = columns_;
    picture.a = means(sumA_, countA_);
    picture.b = means(sumB_, countB_);
    picture.difference = std::move(difference_);
    if (size() == 0) return picture;
    const auto [lowA, highA] = std::ranges::minmax(picture.a);
    const auto [lowB, highB] = std::ranges::minmax(picture.b);
    picture.low = std::min(lowA, lowB);
    picture.high = std::max(highA, highB);
    for (const double apart : picture.difference) {
      if (std::isfinite(apart)) picture.most = std::max(picture.most, apart);
    }
    return picture;
  }

 private:
  static constexpr double kInfinity = std::numeric_limits<double>::infinity();

  [[nodiscard]] size_t size() const { return static_cast<size_t>(rows_) * static_cast<size_t>(columns_); }
  [[nodiscard]] static std::vector<double> means(std::vector<double> sums, const std::vector<int64_t>& counts) {
    for (size_t i = 0; i < sums.size(); ++i) sums[i] = counts[i] > 0 ? sums[i] / static_cast<double>(counts[i]) : 0;
    return sums;
  }

  Tile tile_;
  int rows_, columns_;
  std::vector<double> sumA_, sumB_;
  std::vector<int64_t> countA_, countB_;
  std::vector<double> difference_;
};

}  // namespace

Tile wholeTile(const graph::Shape& shape) {
  const int64_t count = graph::elementCount(shape).value_or(0);
  const int64_t columns = shape.empty() ? 1 : shape.back();
  return {0, columns > 0 ? count / columns : 0, 0, columns};
}

Tile clipped(const Tile& tile, const graph::Shape& shape) {
  const Tile whole = wholeTile(shape);
  Tile inside;
  inside.row = std::clamp<int64_t>(tile.row, 0, whole.rows);
  inside.column = std::clamp<int64_t>(tile.column, 0, whole.columns);
  inside.rows = std::clamp<int64_t>(tile.rows, 0, whole.rows - inside.row);
  inside.columns = std::clamp<int64_t>(tile.columns, 0, whole.columns - inside.column);
  return inside;
}

Result<TilePicture> pictureOf(const graph::TensorView& a, const graph::TensorView& b, const Tile& tile, int mostRows,
                              int mostColumns) {
  const auto valuesA = graph::toDoubles(a), valuesB = graph::toDoubles(b);
  if (!valuesA || !valuesB) return fail(ErrorCode::Unsupported, "the elements are no real numbers");
  const int64_t width = wholeTile(a.shape).columns;
  Cells cells(tile, mostRows, mostColumns);
  for (int64_t row = tile.row; row < tile.row + tile.rows; ++row) {
    for (int64_t column = tile.column; column < tile.column + tile.columns; ++column) {
      const auto at = static_cast<size_t>(row * width + column);
      cells.add(row, column, (*valuesA)[at], (*valuesB)[at]);
    }
  }
  return cells.take();
}

}  // namespace normlens::run
