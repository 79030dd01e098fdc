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

// One of Q, K and V: the columns from `first` on, as many as `given` (0: all), of [B][S][C], or already [B][N][S][H].
// The bias has one number per column of all heads.
[[nodiscard]] Heads headsOf(const Array& array, int64_t heads, const double* bias, int64_t first = 0,
                            int64_t given = 0);
// `now` behind what `past` [B][N][S][H] has already.
[[nodiscard]] Heads behind(const Array& past, const Heads& now);

// In place. A row of nothing but -inf becomes zeros.
void softmax(std::vector<double>& row);

// Makes the weights of a query's keys of its scores, in place.
using Weigh = std::function<void(int64_t b, int64_t n, int64_t s, std::vector<double>& row)>;

// weigh(scale Q K^T) V, head by head; Q may have several heads for one of K and V. scale 0: 1 / sqrt(width). The result
// is [B][N][S][width of V] where `split`, else [B][S][N width of V].
void attend(Call& call, const Heads& q, const Heads& k, const Heads& v, double scale, bool split, const Weigh& weigh);

}  // namespace normlens::formats::onnx::float64
