#include "core/formats/onnx/float64/heads.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace normlens::formats::onnx::float64 {

Heads headsOf(const Array& array, int64_t heads, const double* bias, int64_t first, int64_t given) {
  const int64_t columns = given == 0 ? array.dim(-1) : given;
  const bool split = array.rank() == 4;
  if (heads < 1 || (!split && (array.rank() != 3 || columns % heads != 0))) {
    throw std::runtime_error("an input that does not divide into heads");
  }
  const int64_t width = split ? array.dim(3) : columns / heads;
  Heads out(array.dim(0), heads, array.dim(split ? 2 : 1), width);
  for (int64_t b = 0; b < out.batch; ++b) {
    for (int64_t n = 0; n < heads; ++n) {
      for (int64_t s = 0; s < out.length; ++s) {
        const double* const row =
            array.data + (split ? out.row(b, n, s) : (b * out.length + s) * array.dim(2) + first + n * width);
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

void softmax(std::vector<double>& row) {
  if (row.empty()) return;
  const double top = std::ranges::max(row);
  if (top == -std::numeric_limits<double>::infinity()) {
    std::ranges::fill(row, 0.0);
    return;
  }
  double sum = 0;
  for (double& x : row) sum += x = std::exp(x - top);
  for (double& x : row) x /= sum;
}

void attend(Call& call, const Heads& q, const Heads& k, const Heads& v, double scale, bool split, const Weigh& weigh) {
  if (q.heads % k.heads != 0 || q.heads % v.heads != 0 || q.width != k.width || k.length != v.length) {
    throw std::runtime_error("heads that do not fit each other");
  }
  const double factor = scale == 0 ? 1 / std::sqrt(static_cast<double>(q.width)) : scale;
  double* const out =
      call.output(0, split ? Shape{q.batch, q.heads, q.length, v.width} : Shape{q.batch, q.length, q.heads * v.width});
  call.parallel(q.batch * q.heads, [&](int64_t unit) {
    const int64_t b = unit / q.heads, n = unit % q.heads;
    const int64_t keyHead = n / (q.heads / k.heads), valueHead = n / (q.heads / v.heads);
    std::vector<double> row(static_cast<size_t>(k.length));
    for (int64_t s = 0; s < q.length; ++s) {
      const double* const query = q.at(b, n, s);
      for (int64_t t = 0; t < k.length; ++t) {
        const double* const key = k.at(b, keyHead, t);
        double score = 0;
        for (int64_t i = 0; i < q.width; ++i) score += query[i] * key[i];
        row[static_cast<size_t>(t)] = score * factor;
      }
      weigh(b, n, s, row);
      double* const to = out + (split ? unit * q.length + s : (b * q.length + s) * q.heads + n) * v.width;
      std::fill(to, to + v.width, 0.0);
      for (int64_t t = 0; t < k.length; ++t) {
        const double weight = row[static_cast<size_t>(t)];
        if (weight == 0) continue;
        const double* const value = v.at(b, valueHead, t);
        for (int64_t i = 0; i < v.width; ++i) to[i] += weight * value[i];
      }
    }
  });
}

}  // namespace normlens::formats::onnx::float64
