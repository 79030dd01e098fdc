// Queries, keys and values by head. Private to formats/onnx.
#pragma once

#include <functional>
#include <vector>

#include "core/formats/onnx/float64/kernel.h"

namespace normlens::formats::onnx::float64 {

// [batch][heads][length][width], dense.
struct Heads {
  int64_t batch = 0, heads = 0, length = 0, width = 0;
  std::vector<double> data;

  Heads(int64_t b, int64_t n, int64_t s, int64_t h)
      : batch(b), heads(n), length(s), width(h), data(static_cast<size_t>(b * n * s * h)) {}
  [[nodiscard]] int64_t row(int64_t b, int64_t n, int64_t s) const { return ((b * heads + n) * length + s) * width; }
  [[nodiscard]] const double* at(int64_t b, int64_t n, int64_t s) const { return data.data() + row(b, n, s); }
  [[nodiscard]] double* at(int64_t b, int64_t n, int64_t s) { return data.data() + row(b, n, s); }
  [[nodiscard]] Shape shape() const { return {batch, heads, length, width}; }
};

// `from(b, n, s)`: where the head's row begins; a bias has one number per column of all heads.
[[nodiscard]] Heads gather(int64_t batch, int64_t heads, int64_t length, int64_t width,
                           const std::function<const double*(int64_t, int64_t, int64_t)>& from, const double* bias);
// `now` behind what `past` [B][N][S][H] has already.
[[nodiscard]] Heads behind(const Array& past, const Heads& now);
// One of Q, K and V: [B][S][N H], or already [B][N][S][H].
[[nodiscard]] Heads headsOf(const Array& array, int64_t heads, const double* bias);
// In place. A row of nothing but -inf becomes zeros.
void softmax(std::vector<double>& row);

}  // namespace normlens::formats::onnx::float64
