// Attention of the standard operators (opset 23 and later).
#include <algorithm>
#include <cmath>
#include <limits>

#include "core/formats/onnx/float64/heads.h"
#include "core/formats/onnx/float64/kernel.h"

namespace normlens::formats::onnx::float64 {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

struct Options {
  bool causal;
  int64_t queryHeads, keyHeads, output, left, right;
  double scale, softcap;

  explicit Options(const Attributes& from)
      : causal(from.integer("is_causal", 0) != 0),
        queryHeads(from.integer("q_num_heads", 0)),
        keyHeads(from.integer("kv_num_heads", 0)),
        output(from.integer("qk_matmul_output_mode", 0)),
        left(from.integer("left_window_size", -1)),
        right(from.integer("right_window_size", -1)),
        scale(from.number("scale", 0)),
        softcap(from.number("softcap", 0)) {}
};

// What is added to the scores: the mask, and -inf where a query may not look.
struct Bias {
  Shape mask;  // [B or 1][N or 1][S or 1][T]; empty: no mask
  std::vector<double> values;
  std::vector<int64_t> valid;  // keys in use, by batch; empty: all
  int64_t past = 0;

  [[nodiscard]] double at(const Options& options, int64_t b, int64_t n, int64_t s, int64_t t, int64_t queries) const {
    double bias = mask.empty() ? 0.0 : maskAt(b, n, s, t);
    const int64_t own = valid.empty() ? 0 : valid.at(static_cast<size_t>(b));
    const int64_t place = s + (valid.empty() ? past : own - queries);  // of the query among the keys
    if (options.causal && t > place) bias = -kInfinity;
    if (options.left >= 0 && place - t > options.left) bias = -kInfinity;
    if (options.right >= 0 && t - place > options.right) bias = -kInfinity;
    if (!valid.empty() && t >= own) bias = -kInfinity;
    return bias;
  }

 private:
  // A mask shorter than the keys hides the rest.
  [[nodiscard]] double maskAt(int64_t b, int64_t n, int64_t s, int64_t t) const {
    if (t >= mask[3] && mask[3] != 1) return -kInfinity;
    int64_t at = 0;
    const int64_t index[] = {b, n, s, t};
    for (size_t axis = 0; axis < 4; ++axis) at = at * mask[axis] + (mask[axis] == 1 ? 0 : index[axis]);
    return values.at(static_cast<size_t>(at));
  }
};

Bias biasOf(Call& call) {
  Bias bias;
  if (call.has(3)) {
    bias.mask = call.shapeOf(3);
    if (bias.mask.size() > 4) throw std::runtime_error("a mask of more than four axes");
    bias.mask.insert(bias.mask.begin(), 4 - bias.mask.size(), 1);
    if (call.isFloat(3)) {
      const Array mask = call.array(3);
      bias.values.assign(mask.data, mask.data + mask.count());
    } else {
      for (const int64_t allowed : call.integers(3)) bias.values.push_back(allowed != 0 ? 0.0 : -kInfinity);
    }
  }
  if (call.has(4)) bias.past = call.array(4).dim(2);
  if (call.has(6)) bias.valid = call.integers(6);
  return bias;
}

// Scores of one query; `raw`, `capped` and `biased` for whom asks for them.
struct Scores {
  std::vector<double> raw, capped, biased, probabilities;
};

void score(const Options& options, const Bias& bias, const Heads& q, const Heads& k, int64_t b, int64_t n, int64_t s,
           double scale, Scores& scores) {
  const int64_t keyHead = n / (q.heads / k.heads);
  const double* const query = q.at(b, n, s);
  bool any = false;
  for (int64_t t = 0; t < k.length; ++t) {
    const auto at = static_cast<size_t>(t);
    const double* const key = k.at(b, keyHead, t);
    double sum = 0;
    for (int64_t i = 0; i < q.width; ++i) sum += query[i] * key[i];
    const double added = bias.at(options, b, n, s, t, q.length);
    any = any || added != -kInfinity;
    scores.raw[at] = sum * scale;
    scores.capped[at] =
        options.softcap > 0 ? options.softcap * std::tanh(scores.raw[at] / options.softcap) : scores.raw[at];
    scores.biased[at] = added == -kInfinity ? -kInfinity : scores.capped[at] + added;
  }
  scores.probabilities = scores.biased;
  if (any) {
    softmax(scores.probabilities);
  } else {
    std::ranges::fill(scores.probabilities, 0.0);
  }
}

// Q, K, V, attn_mask?, past_key?, past_value?, nonpad_kv_seqlen? -> Y, present_key?, present_value?, qk?
void attend(Call& call, const Options& options) {
  const Array query = call.array(0);
  const bool split = query.rank() == 4;
  const auto heads = [&](size_t input, int64_t given) {
    const Array array = call.array(input);
    const int64_t count = array.rank() == 4 ? array.dim(1) : given;
    if (count < 1) throw std::runtime_error("an unknown number of heads");
    return headsOf(array, count, nullptr);
  };
  const Heads q = heads(0, options.queryHeads);
  Heads k = heads(1, options.keyHeads), v = heads(2, options.keyHeads);
  if (call.has(4)) {
    k = behind(call.array(4), k);
    v = behind(call.array(5), v);
  }
  if (q.heads % k.heads != 0 || q.width != k.width) throw std::runtime_error("heads that do not fit each other");
  const Bias bias = biasOf(call);
  const double scale = options.scale == 0 ? 1 / std::sqrt(static_cast<double>(q.width)) : options.scale;
  const Shape shape = split ? Shape{q.batch, q.heads, q.length, v.width} : Shape{q.batch, q.length, q.heads * v.width};
  double* const y = call.output(0, shape);
  double* const qk = call.wants(3) ? call.output(3, {q.batch, q.heads, q.length, k.length}) : nullptr;
  call.parallel(q.batch * q.heads, [&](int64_t unit) {
    const int64_t b = unit / q.heads, n = unit % q.heads, valueHead = n / (q.heads / v.heads);
    const std::vector<double> blank(static_cast<size_t>(k.length), 0.0);
    Scores scores{blank, blank, blank, blank};
    for (int64_t s = 0; s < q.length; ++s) {
      score(options, bias, q, k, b, n, s, scale, scores);
      double* const to = y + (split ? (unit * q.length + s) * v.width : ((b * q.length + s) * q.heads + n) * v.width);
      std::fill(to, to + v.width, 0.0);
      for (int64_t t = 0; t < k.length; ++t) {
        const double weight = scores.probabilities[static_cast<size_t>(t)];
        if (weight == 0) continue;
        const double* const value = v.at(b, valueHead, t);
        for (int64_t i = 0; i < v.width; ++i) to[i] += weight * value[i];
      }
      if (!qk) continue;
      const std::vector<double>* const shown[] = {&scores.raw, &scores.capped, &scores.biased, &scores.probabilities};
      std::ranges::copy(*shown[std::clamp<int64_t>(options.output, 0, 3)], qk + (unit * q.length + s) * k.length);
    }
  });
  if (call.wants(1)) std::ranges::copy(k.data, call.output(1, k.shape()));
  if (call.wants(2)) std::ranges::copy(v.data, call.output(2, v.shape()));
}

Kernel makeAttention(const Attributes& attributes) {
  return [options = Options(attributes)](Call& call) { attend(call, options); };
}

const KernelRow kRows[] = {{"Attention", "dddADDA", "dDDD", makeAttention}};

}  // namespace

std::span<const KernelRow> standardAttentionKernels() { return kRows; }

}  // namespace normlens::formats::onnx::float64
