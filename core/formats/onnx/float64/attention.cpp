// Attention and MultiHeadAttention of ONNX Runtime's own domain, and Attention of the standard operators (opset 23 and
// later).
#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "core/formats/onnx/float64/heads.h"
#include "core/formats/onnx/float64/kernel.h"

namespace normlens::formats::onnx::float64 {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

int64_t offsetAt(const std::vector<int64_t>& strides, int64_t b, int64_t n, int64_t s, int64_t t) {
  return b * strides[0] + n * strides[1] + s * strides[2] + t * strides[3];
}

void showKeysAndValues(Call& call, const Heads& k, const Heads& v) {
  if (call.wants(1)) std::ranges::copy(k.data, call.output(1, k.shape()));
  if (call.wants(2)) std::ranges::copy(v.data, call.output(2, v.shape()));
}

// ---- ONNX Runtime's own

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
  attend(call, q, k, v, options.scale, /*split=*/false, [&](int64_t b, int64_t n, int64_t s, std::vector<double>& row) {
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

// ---- the standard operator

struct StandardOptions {
  bool causal;
  int64_t queryHeads, keyHeads, output;
  double scale, softcap;

  explicit StandardOptions(const Attributes& from)
      : causal(from.integer("is_causal", 0) != 0),
        queryHeads(from.integer("q_num_heads", 0)),
        keyHeads(from.integer("kv_num_heads", 0)),
        output(from.integer("qk_matmul_output_mode", 0)),
        scale(from.number("scale", 0)),
        softcap(from.number("softcap", 0)) {
    const bool windowed = from.integer("left_window_size", -1) >= 0 || from.integer("right_window_size", -1) >= 0;
    if (windowed) throw std::runtime_error("windows are not supported");  // nor does the runtime know them
  }
};

// Holds what is added to the scores: the mask, and -inf where a query may not look.
struct Bias {
  std::vector<double> mask;  // empty: no mask
  std::vector<int64_t> strides;
  int64_t keys = 1;            // of the mask: where there are fewer, but not one, it hides the rest
  std::vector<int64_t> valid;  // keys in use, by batch; empty: all
  int64_t past = 0;

  [[nodiscard]] double at(const StandardOptions& options, int64_t b, int64_t n, int64_t s, int64_t t,
                          int64_t queries) const {
    const int64_t own = valid.empty() ? 0 : valid.at(static_cast<size_t>(b));
    const int64_t place = s + (valid.empty() ? past : own - queries);  // of the query among the keys
    if (options.causal && t > place) return -kInfinity;
    if (!valid.empty() && t >= own) return -kInfinity;
    if (mask.empty()) return 0;
    return t >= keys && keys != 1 ? -kInfinity : mask.at(static_cast<size_t>(offsetAt(strides, b, n, s, t)));
  }
};

Bias biasOf(Call& call, const Shape& scores) {
  Bias bias;
  if (call.has(3)) {
    const Shape shape = call.shapeOf(3);
    if (shape.size() > scores.size()) throw std::runtime_error("a mask of more than four axes");
    if (!shape.empty()) bias.keys = shape.back();
    bias.strides = broadcastStrides(shape, scores);
    if (call.isFloat(3)) {
      const Array mask = call.array(3);
      bias.mask.assign(mask.data, mask.data + mask.count());
    } else {
      for (const int64_t allowed : call.integers(3)) bias.mask.push_back(allowed != 0 ? 0.0 : -kInfinity);
    }
  }
  if (call.has(4)) bias.past = call.array(4).dim(2);
  if (call.has(6)) bias.valid = call.integers(6);
  return bias;
}

// Q, K, V, attn_mask?, past_key?, past_value?, nonpad_kv_seqlen? -> Y, present_key?, present_value?, qk?
void attention(Call& call, const StandardOptions& options) {
  const auto heads = [&](size_t input, int64_t given) {
    const Array array = call.array(input);
    return headsOf(array, array.rank() == 4 ? array.dim(1) : given, nullptr);
  };
  const Heads q = heads(0, options.queryHeads);
  Heads k = heads(1, options.keyHeads), v = heads(2, options.keyHeads);
  if (call.has(4)) {
    k = behind(call.array(4), k);
    v = behind(call.array(5), v);
  }
  const Shape scores{q.batch, q.heads, q.length, k.length};
  const Bias bias = biasOf(call, scores);
  double* const qk = call.wants(3) ? call.output(3, scores) : nullptr;
  attend(call, q, k, v, options.scale, call.array(0).rank() == 4,
         [&](int64_t b, int64_t n, int64_t s, std::vector<double>& row) {
           const auto show = [&](int64_t stage) {
             if (qk && options.output == stage)
               std::ranges::copy(row, qk + ((b * q.heads + n) * q.length + s) * k.length);
           };
           show(0);
           if (options.softcap > 0) {
             for (double& score : row) score = options.softcap * std::tanh(score / options.softcap);
           }
           show(1);
           for (int64_t t = 0; t < k.length; ++t) {
             const double added = bias.at(options, b, n, s, t, q.length);
             double& score = row[static_cast<size_t>(t)];
             score = added == -kInfinity ? added : score + added;
           }
           show(2);
           softmax(row);
           show(3);
         });
  showKeysAndValues(call, k, v);
}

Kernel makeAttention(const Attributes& attributes) {
  return [options = StandardOptions(attributes)](Call& call) { attention(call, options); };
}

const KernelRow kAttentionKernels[] = {
    {"FusedAttention", "ddDADDA", "dD", make<fusedAttention>, "com.microsoft.Attention"},
    {"MultiHeadAttention", "dDDDADDDAA", "dDDD", make<multiHeadAttention>, "com.microsoft.MultiHeadAttention"},
    {"Attention", "dddADDA", "dDDD", makeAttention},
};

}  // namespace

std::span<const KernelRow> attentionKernels() { return kAttentionKernels; }

}  // namespace normlens::formats::onnx::float64
