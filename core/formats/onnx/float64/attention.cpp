// Attention and MultiHeadAttention of ONNX Runtime's own domain, and rotary embeddings.
#include <algorithm>
#include <cmath>
#include <limits>

#include "core/formats/onnx/float64/heads.h"
#include "core/formats/onnx/float64/kernel.h"

namespace normlens::formats::onnx::float64 {
namespace {

struct Masking {
  double filter = -10000;  // added where a key is masked
  bool causal = false;
  int64_t past = 0;  // keys before the first query
  Shape maskShape;   // empty: no mask
  std::vector<int64_t> mask;
  Array bias;  // added to the scores, broadcast over batch and heads

  [[nodiscard]] bool masked(int64_t b, int64_t s, int64_t t, const Heads& q) const {
    const auto at = [&](int64_t i) { return mask.at(static_cast<size_t>(i)); };
    if (maskShape.size() == 2) return at(b * maskShape[1] + t) <= 0;
    if (maskShape.size() == 3) return at((b * q.length + s) * maskShape[2] + t) <= 0;
    if (maskShape.size() != 1) return false;
    if (maskShape[0] == q.batch) return t >= at(b);
    if (maskShape[0] == 2 * q.batch) return t >= at(b) || t < at(q.batch + b);
    throw std::runtime_error("a mask of a form that is not supported in double");
  }
};

// out[b][s][n][v width]
void attend(Call& call, const Heads& q, const Heads& k, const Heads& v, double scale, const Masking& masking,
            double* out) {
  const Shape scores{q.batch, q.heads, q.length, k.length};
  const auto biasStrides =
      masking.bias.data ? broadcastStrides(masking.bias.shape, scores) : std::vector<int64_t>(4, 0);
  call.parallel(q.batch * q.heads, [&](int64_t unit) {
    const int64_t b = unit / q.heads, n = unit % q.heads;
    std::vector<double> row(static_cast<size_t>(k.length));
    for (int64_t s = 0; s < q.length; ++s) {
      const double* const query = q.at(b, n, s);
      for (int64_t t = 0; t < k.length; ++t) {
        const double* const key = k.at(b, n, t);
        double score = 0;
        for (int64_t i = 0; i < q.width; ++i) score += query[i] * key[i];
        score *= scale;
        if (!masking.mask.empty() && masking.masked(b, s, t, q)) score += masking.filter;
        if (masking.bias.data) {
          score += masking.bias.data[b * biasStrides[0] + n * biasStrides[1] + s * biasStrides[2] + t * biasStrides[3]];
        }
        if (masking.causal && t > masking.past + s) score = std::numeric_limits<double>::lowest();
        row[static_cast<size_t>(t)] = score;
      }
      if (!row.empty()) softmax(row);
      double* const to = out + ((b * q.length + s) * q.heads + n) * v.width;
      std::fill(to, to + v.width, 0.0);
      for (int64_t t = 0; t < k.length; ++t) {
        const double* const value = v.at(b, n, t);
        for (int64_t i = 0; i < v.width; ++i) to[i] += row[static_cast<size_t>(t)] * value[i];
      }
    }
  });
}

struct Options {
  double filter, scale;
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
  [[nodiscard]] double scaleFor(int64_t width) const {
    return scale == 0 ? 1 / std::sqrt(static_cast<double>(width)) : scale;
  }
};

Masking maskingOf(const Call& call, const Options& options, size_t mask, size_t bias) {
  Masking masking;
  masking.filter = options.filter;
  masking.causal = options.causal != 0;
  if (call.has(mask)) {
    masking.maskShape = call.shapeOf(mask);
    masking.mask = call.integers(mask);
  }
  if (call.has(bias)) masking.bias = call.array(bias);
  return masking;
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
void attention(Call& call, const Options& options) {
  const Array x = call.array(0), w = call.array(1), bias = call.has(2) ? call.array(2) : Array{};
  const int64_t batch = x.dim(0), length = x.dim(1), merged = w.dim(1);
  const auto widths = widthsOf(options, merged);
  std::vector<double> projected(static_cast<size_t>(batch * length * merged));
  multiply(x.data, x.dim(2), w.data, merged, projected.data(), merged, batch * length, x.dim(2), merged, false);
  int64_t first = 0;
  const auto part = [&](size_t i) {
    const int64_t begin = first, width = widths[i] / options.heads;
    first += widths[i];
    return gather(
        batch, options.heads, length, width,
        [&](int64_t b, int64_t n, int64_t s) {
          return projected.data() + (b * length + s) * merged + begin + n * width;
        },
        bias.data ? bias.data + begin : nullptr);
  };
  const Heads q = part(0);
  Heads k = part(1), v = part(2);
  Masking masking = maskingOf(call, options, 3, 5);
  if (call.has(4)) {
    Array past = call.array(4);
    past.shape.erase(past.shape.begin());
    masking.past = past.dim(2);
    k = behind(past, k);
    past.data += past.count();
    v = behind(past, v);
  }
  attend(call, q, k, v, options.scaleFor(q.width), masking, call.output(0, {batch, length, widths[2]}));
  if (!call.wants(1)) return;
  Shape shape = k.shape();
  shape.insert(shape.begin(), 2);
  double* const present = call.output(1, shape);
  std::ranges::copy(v.data, std::ranges::copy(k.data, present).out);
}

Kernel makeAttention(const Attributes& attributes) {
  return [options = Options(attributes)](Call& call) { attention(call, options); };
}

// query, key, value, bias?, key_padding_mask?, attention_bias?, past_key?, past_value?, ... -> output, present_key?,
// present_value?. Packed inputs have no kernel for the CPU in float32 either.
void multiHead(Call& call, const Options& options) {
  if (call.has(8) || call.has(9) || call.wants(3) || !call.has(1) || !call.has(2)) {
    throw std::runtime_error("an input or output that is not supported in double");
  }
  const Array query = call.array(0), bias = call.has(3) ? call.array(3) : Array{};
  const int64_t heads = options.heads, hidden = query.dim(2);
  const auto biasAt = [&](int64_t begin) { return bias.data ? bias.data + begin : nullptr; };
  const Heads q = headsOf(query, heads, biasAt(0));
  Heads k = headsOf(call.array(1), heads, biasAt(hidden)), v = headsOf(call.array(2), heads, biasAt(2 * hidden));
  Masking masking = maskingOf(call, options, 4, 5);
  if (call.has(6)) {
    masking.past = call.array(6).dim(2);
    k = behind(call.array(6), k);
    v = behind(call.array(7), v);
  }
  attend(call, q, k, v, options.scaleFor(q.width), masking, call.output(0, {q.batch, q.length, heads * v.width}));
  if (call.wants(1)) std::ranges::copy(k.data, call.output(1, k.shape()));
  if (call.wants(2)) std::ranges::copy(v.data, call.output(2, v.shape()));
}

Kernel makeMultiHeadAttention(const Attributes& attributes) {
  return [options = Options(attributes)](Call& call) { multiHead(call, options); };
}

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

// positions: by [batch][sequence], a single first position, or empty where the caches are by batch already.
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
      int64_t row = b * length + s;
      if (positions.size() == 1) row = positions[0] + s;
      if (positions.size() > 1) row = positions.at(static_cast<size_t>(row));
      if (row < 0 || (row + 1) * cacheWidth > cos.count()) throw std::runtime_error("a position outside its table");
      for (int64_t n = 0; n < heads; ++n) {
        const int64_t at = split ? ((b * heads + n) * length + s) * width : ((b * length + s) * heads + n) * width;
        rotateRow(how, x.data + at, cos.data + row * cacheWidth, sin.data + row * cacheWidth, width, rotated, y + at);
      }
    }
  }
}

// input, position_ids, cos_cache, sin_cache
Kernel makeContribRotary(const Attributes& attributes) {
  if (attributes.integer("is_packed_batching", 0) != 0) throw std::runtime_error("packed batches are not supported");
  return [how = Rotary(attributes)](Call& call) { rotate(call, how, call.array(2), call.array(3), call.integers(1)); };
}

// X, cos_cache, sin_cache, position_ids?
Kernel makeRotary(const Attributes& attributes) {
  return [how = Rotary(attributes)](Call& call) {
    rotate(call, how, call.array(1), call.array(2), call.has(3) ? call.integers(3) : std::vector<int64_t>{});
  };
}

const KernelRow kRows[] = {
    {"FusedAttention", "ddDADDA", "dD", makeAttention},
    {"MultiHeadAttention", "dDDDADDDAA", "dDDD", makeMultiHeadAttention},
    {"FusedRotaryEmbedding", "dadd", "d", makeContribRotary},
    {"RotaryEmbedding", "dddA", "d", makeRotary},
};

}  // namespace

std::span<const KernelRow> attentionKernels() { return kRows; }

}  // namespace normlens::formats::onnx::float64
