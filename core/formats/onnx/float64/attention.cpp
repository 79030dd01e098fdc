// Attention, MultiHeadAttention and RotaryEmbedding of ONNX Runtime's own domain.
#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "core/formats/onnx/float64/kernel.h"

namespace normlens::formats::onnx::float64 {
namespace {

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
Heads headsOf(const Array& array, int64_t heads, const double* bias, int64_t first = 0, int64_t given = 0) {
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

// `now` behind what `past` [B][N][S][H] has already.
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

// In place. A row of nothing but -inf becomes zeros.
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

// Makes the weights of a query's keys of its scores, in place.
using Weigh = std::function<void(int64_t b, int64_t n, int64_t s, std::vector<double>& row)>;

// weigh(scale Q K^T) V as [B][S][N H], head by head. scale 0: 1 / sqrt(width).
void attend(Call& call, const Heads& q, const Heads& k, const Heads& v, double scale, const Weigh& weigh) {
  if (q.heads != k.heads || q.heads != v.heads || q.width != k.width || k.length != v.length) {
    throw std::runtime_error("heads that do not fit each other");
  }
  const double factor = scale == 0 ? 1 / std::sqrt(static_cast<double>(q.width)) : scale;
  double* const out = call.output(0, {q.batch, q.length, q.heads * v.width});
  call.parallel(q.batch * q.heads, [&](int64_t unit) {
    const int64_t b = unit / q.heads, n = unit % q.heads;
    std::vector<double> row(static_cast<size_t>(k.length));
    for (int64_t s = 0; s < q.length; ++s) {
      const double* const query = q.at(b, n, s);
      for (int64_t t = 0; t < k.length; ++t) {
        const double* const key = k.at(b, n, t);
        double score = 0;
        for (int64_t i = 0; i < q.width; ++i) score += query[i] * key[i];
        row[static_cast<size_t>(t)] = score * factor;
      }
      weigh(b, n, s, row);
      double* const to = out + ((b * q.length + s) * q.heads + n) * v.width;
      std::fill(to, to + v.width, 0.0);
      for (int64_t t = 0; t < k.length; ++t) {
        const double weight = row[static_cast<size_t>(t)];
        if (weight == 0) continue;
        const double* const value = v.at(b, n, t);
        for (int64_t i = 0; i < v.width; ++i) to[i] += weight * value[i];
      }
    }
  });
}

int64_t offsetAt(const std::vector<int64_t>& strides, int64_t b, int64_t n, int64_t s, int64_t t) {
  return b * strides[0] + n * strides[1] + s * strides[2] + t * strides[3];
}

void showKeysAndValues(Call& call, const Heads& k, const Heads& v) {
  if (call.wants(1)) std::ranges::copy(k.data, call.output(1, k.shape()));
  if (call.wants(2)) std::ranges::copy(v.data, call.output(2, v.shape()));
}

struct Options {
  double filter, scale;  // filter: added where a key is masked
  int64_t causal, heads;
  std::vector<int64_t> sizes;

  explicit Options(const Attributes& from)
      : filter(from.number("mask_filter_value", -10000)),
        scale(from.number("scale", 0)),
        causal(from.integer("unidirectional", 0)),
        heads(from.integer("num_heads", 1)),
        sizes(from.integers("qkv_hidden_sizes")) {
    const bool rare = from.integer("do_rotary", 0) != 0 || from.integer("past_present_share_buffer", 0) != 0;
    if (rare || heads < 1) throw std::runtime_error("an option that is not supported in double");
  }
};

struct KeyMask {
  Shape shape;  // empty: no mask
  std::vector<int64_t> numbers;

  [[nodiscard]] bool hides(int64_t b, int64_t s, int64_t t, const Heads& q) const {
    const auto at = [&](int64_t i) { return numbers.at(static_cast<size_t>(i)); };
    if (shape.size() == 2) return at(b * shape[1] + t) <= 0;
    if (shape.size() == 3) return at((b * q.length + s) * shape[2] + t) <= 0;
    if (shape.size() != 1) return false;
    if (shape[0] == q.batch) return t >= at(b);
    if (shape[0] == 2 * q.batch) return t >= at(b) || t < at(q.batch + b);
    throw std::runtime_error("a mask of a form that is not supported in double");
  }
};

// mask, bias: the inputs that hide keys, and that are added to the scores, broadcast over batch and heads; past: keys
// before the first query.
void attendMasked(Call& call, const Options& options, const Heads& q, const Heads& k, const Heads& v, size_t mask,
                  size_t bias, int64_t past) {
  const KeyMask keys = call.has(mask) ? KeyMask{call.shapeOf(mask), call.integers(mask)} : KeyMask{};
  const Array added = call.optionalArray(bias);
  const auto strides = broadcastStrides(added.shape, {q.batch, q.heads, q.length, k.length});
  attend(call, q, k, v, options.scale, [&](int64_t b, int64_t n, int64_t s, std::vector<double>& row) {
    for (int64_t t = 0; t < k.length; ++t) {
      double& score = row[static_cast<size_t>(t)];
      if (!keys.numbers.empty() && keys.hides(b, s, t, q)) score += options.filter;
      if (added.data) score += added.data[offsetAt(strides, b, n, s, t)];
      if (options.causal != 0 && t > past + s) score = std::numeric_limits<double>::lowest();
    }
    softmax(row);
  });
}

// Widths of Q, K and V in the merged projection.
std::vector<int64_t> widthsOf(const Options& options, int64_t merged) {
  std::vector<int64_t> widths = options.sizes.empty() ? std::vector<int64_t>(3, merged / 3) : options.sizes;
  if (widths.size() != 3 || widths[0] + widths[1] + widths[2] != merged || widths[0] != widths[1]) {
    throw std::runtime_error("sizes of Q, K and V that do not fit the weights");
  }
  return widths;
}

// input, weights, bias?, mask_index?, past?, attention_bias?, past_sequence_length? -> output, present?
void fusedAttention(Call& call, const Options& options) {
  const Array x = call.array(0), w = call.array(1), bias = call.optionalArray(2);
  const int64_t batch = x.dim(0), length = x.dim(1), merged = w.dim(1);
  const auto widths = widthsOf(options, merged);
  std::vector<double> projected(static_cast<size_t>(batch * length * merged));
  multiply(x.data, x.dim(2), w.data, merged, projected.data(), merged, batch * length, x.dim(2), merged, false);
  int64_t first = 0;
  const auto part = [&](size_t i) {
    const int64_t begin = std::exchange(first, first + widths[i]);
    return headsOf({projected.data(), {batch, length, merged}}, options.heads, bias.data ? bias.data + begin : nullptr,
                   begin, widths[i]);
  };
  const Heads q = part(0);
  Heads k = part(1), v = part(2);
  if (call.has(4)) {
    Array past = call.array(4);  // [2][B][N][S][H]
    past.shape.erase(past.shape.begin());
    k = behind(past, k);
    past.data += past.count();
    v = behind(past, v);
  }
  attendMasked(call, options, q, k, v, 3, 5, k.length - length);
  if (!call.wants(1)) return;
  Shape shape = k.shape();
  shape.insert(shape.begin(), 2);
  double* const present = call.output(1, shape);
  std::ranges::copy(v.data, std::ranges::copy(k.data, present).out);
}

// query, key, value, bias?, key_padding_mask?, attention_bias?, past_key?, past_value?, ... -> output, present_key?,
// present_value?. Packed inputs have no kernel for the CPU in float32 either.
void multiHeadAttention(Call& call, const Options& options) {
  if (call.has(8) || call.has(9) || call.wants(3) || !call.has(1) || !call.has(2)) {
    throw std::runtime_error("an input or output that is not supported in double");
  }
  const Array query = call.array(0), bias = call.optionalArray(3);
  const int64_t heads = options.heads, hidden = query.dim(2);
  const auto biasAt = [&](int64_t begin) { return bias.data ? bias.data + begin : nullptr; };
  const Heads q = headsOf(query, heads, biasAt(0));
  Heads k = headsOf(call.array(1), heads, biasAt(hidden)), v = headsOf(call.array(2), heads, biasAt(2 * hidden));
  if (call.has(6)) {
    k = behind(call.array(6), k);
    v = behind(call.array(7), v);
  }
  attendMasked(call, options, q, k, v, 4, 5, call.has(6) ? call.array(6).dim(2) : 0);
  showKeysAndValues(call, k, v);
}

template <void (*kRun)(Call&, const Options&)>
Kernel make(const Attributes& attributes) {
  return [options = Options(attributes)](Call& call) { kRun(call, options); };
}

// ---- rotary embeddings

struct Rotary {
  bool interleaved;
  int64_t heads, width;  // width 0: all of a head
  double scale;

  explicit Rotary(const Attributes& attributes)
      : interleaved(attributes.integer("interleaved", 0) != 0),
        heads(attributes.integer("num_heads", 0)),
        width(attributes.integer("rotary_embedding_dim", 0)),
        scale(attributes.number("scale", 1)) {}
};

void rotateRow(const Rotary& how, const double* x, const double* cos, const double* sin, int64_t width, int64_t rotated,
               double* y) {
  const int64_t half = rotated / 2;
  for (int64_t i = 0; i < half; ++i) {
    const int64_t a = how.interleaved ? 2 * i : i, b = how.interleaved ? 2 * i + 1 : i + half;
    y[a] = cos[i] * x[a] - sin[i] * x[b];
    y[b] = sin[i] * x[a] + cos[i] * x[b];
  }
  std::copy(x + rotated, x + width, y + rotated);
}

// positions: by [batch][sequence], or a single first position.
void rotate(Call& call, const Rotary& how, const Array& cos, const Array& sin, const std::vector<int64_t>& positions) {
  const Array x = call.array(0);
  const bool split = x.rank() == 4;  // [B][N][S][H], else [B][S][N H]
  const int64_t batch = x.dim(0), length = split ? x.dim(2) : x.dim(1);
  const int64_t cacheWidth = cos.dim(-1);
  const int64_t guess = how.width > 0 ? 0 : 2 * cacheWidth;
  const int64_t heads = split ? x.dim(1) : how.heads > 0 ? how.heads : guess > 0 ? x.dim(2) / guess : 0;
  if (heads < 1) throw std::runtime_error("an unknown number of heads");
  const int64_t width = split ? x.dim(3) : x.dim(2) / heads, rotated = how.width > 0 ? how.width : width;
  if (rotated / 2 != cacheWidth || rotated > width) throw std::runtime_error("tables that do not fit the heads");
  double* const y = call.output(0, x.shape);
  for (int64_t b = 0; b < batch; ++b) {
    for (int64_t s = 0; s < length; ++s) {
      const auto at = static_cast<size_t>(b * length + s);
      const int64_t row = positions.size() == 1 ? positions[0] + s : positions.at(at);
      if (row < 0 || (row + 1) * cacheWidth > cos.count()) throw std::runtime_error("a position outside its table");
      for (int64_t n = 0; n < heads; ++n) {
        const int64_t head = split ? ((b * heads + n) * length + s) * width : ((b * length + s) * heads + n) * width;
        rotateRow(how, x.data + head, cos.data + row * cacheWidth, sin.data + row * cacheWidth, width, rotated,
                  y + head);
      }
    }
  }
}

// input, position_ids, cos_cache, sin_cache
Kernel makeRotary(const Attributes& attributes) {
  if (attributes.integer("is_packed_batching", 0) != 0) throw std::runtime_error("packed batches are not supported");
  return [how = Rotary(attributes)](Call& call) { rotate(call, how, call.array(2), call.array(3), call.integers(1)); };
}

const KernelRow kAttentionKernels[] = {
    {"FusedAttention", "ddDADDA", "dD", make<fusedAttention>, "com.microsoft.Attention"},
    {"MultiHeadAttention", "dDDDADDDAA", "dDDD", make<multiHeadAttention>, "com.microsoft.MultiHeadAttention"},
    {"FusedRotaryEmbedding", "dadd", "d", makeRotary, "com.microsoft.RotaryEmbedding"},
};

}  // namespace

std::span<const KernelRow> attentionKernels() { return kAttentionKernels; }

}  // namespace normlens::formats::onnx::float64
