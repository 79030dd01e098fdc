#include "core/formats/onnx/float64/heads.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace normlens::formats::onnx::float64 {

Heads gather(int64_t batch, int64_t heads, int64_t length, int64_t width,
             const std::function<const double*(int64_t, int64_t, int64_t)>& from, const double* bias) {
  Heads out(batch, heads, length, width);
  for (int64_t b = 0; b < batch; ++b) {
    for (int64_t n = 0; n < heads; ++n) {
      for (int64_t s = 0; s < length; ++s) {
        const double* const row = from(b, n, s);
        double* const to = out.at(b, n, s);
        for (int64_t i = 0; i < width; ++i) to[i] = row[i] + (bias ? bias[n * width + i] : 0.0);
      }
    }
  }
  return out;
}

Heads behind(const Array& past, const Heads& now) {
  Heads all(now.batch, now.heads, past.dim(2) + now.length, now.width);
  const int64_t before = past.dim(2);
  for (int64_t b = 0; b < now.batch; ++b) {
    for (int64_t n = 0; n < now.heads; ++n) {
      const double* const from = past.data + (b * now.heads + n) * before * now.width;
      std::copy(from, from + before * now.width, all.at(b, n, 0));
      std::copy(now.at(b, n, 0), now.at(b, n, 0) + now.length * now.width, all.at(b, n, before));
    }
  }
  return all;
}

Heads headsOf(const Array& array, int64_t heads, const double* bias) {
  const bool split = array.rank() == 4;
  if (!split && (array.rank() != 3 || array.dim(2) % heads != 0)) {
    throw std::runtime_error("an input that does not divide into heads");
  }
  const int64_t length = array.dim(split ? 2 : 1), width = split ? array.dim(3) : array.dim(2) / heads;
  return gather(
      array.dim(0), heads, length, width,
      [&](int64_t b, int64_t n, int64_t s) {
        return array.data + (split ? (b * heads + n) * length + s : (b * length + s) * heads + n) * width;
      },
      bias);
}

void softmax(std::vector<double>& row) {
  const double top = *std::max_element(row.begin(), row.end());
  if (top == -std::numeric_limits<double>::infinity()) {
    std::ranges::fill(row, 0.0);
    return;
  }
  double sum = 0;
  for (double& x : row) sum += x = std::exp(x - top);
  for (double& x : row) x /= sum;
}

}  // namespace normlens::formats::onnx::float64
