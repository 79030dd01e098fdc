// LayerNorm and RMSNorm, alone and fused with what stands before them.
#include <algorithm>

#include "core/formats/onnx/float64/kernel.h"
#include "core/formats/onnx/float64/moments.h"

namespace normlens::formats::onnx::float64 {
namespace {

// y = (x - mean) inverse scale + bias over the trailing axes from `axis`.
struct RowNorm {
  bool centred = true;
  double epsilon = 1e-5;
  int64_t axis = -1;
};

struct RowShape {
  int64_t rows = 0, width = 0;
  Shape normed;   // the trailing axes
  Shape reduced;  // of means: trailing axes 1
};

RowShape rowShape(const Shape& shape, int64_t axis) {
  const auto rank = static_cast<int64_t>(shape.size());
  const int64_t first = axis < 0 ? axis + rank : axis;
  if (first < 0 || first > rank) throw std::runtime_error("an axis outside the input");
  RowShape rows;
  const auto split = static_cast<size_t>(first);
  rows.rows = product(shape, 0, split);
  rows.width = product(shape, split, shape.size());
  rows.normed.assign(shape.begin() + first, shape.end());
  rows.reduced = shape;
  std::fill(rows.reduced.begin() + first, rows.reduced.end(), 1);
  return rows;
}

// A scale or bias as one number per element of the whole input: where it spans the normalised axes only, offset 0 for
// each row.
struct Spread {
  const double* data = nullptr;
  std::vector<int64_t> offsets;  // empty: by position within the row
  [[nodiscard]] double at(int64_t row, int64_t width, int64_t i) const {
    return offsets.empty() ? data[i] : data[offsets[static_cast<size_t>(row * width + i)]];
  }
};

Spread spreadOver(const Array& array, const Shape& shape, const Shape& normed) {
  Spread spread{array.data, {}};
  if (array.count() == product(normed) && array.rank() <= static_cast<int64_t>(normed.size())) return spread;
  spread.offsets.reserve(static_cast<size_t>(product(shape)));
  forEachPair(shape, array.shape, {}, [&](int64_t, int64_t offset, int64_t) { spread.offsets.push_back(offset); });
  return spread;
}

void normalise(Call& call, const RowNorm& norm, const double* x, const Shape& shape, const Array& scale,
               const Array& bias, double* y, double* means, double* inverses) {
  const RowShape rows = rowShape(shape, norm.axis);
  const Spread scales = scale.data ? spreadOver(scale, shape, rows.normed) : Spread{};
  const Spread biases = bias.data ? spreadOver(bias, shape, rows.normed) : Spread{};
  eachRow(call, rows.rows, [&](int64_t row) {
    const double* const in = x + row * rows.width;
    double* const out = y + row * rows.width;
    const Moments moments = momentsOf(in, rows.width, norm.epsilon, norm.centred);
    for (int64_t i = 0; i < rows.width; ++i) {
      double value = (in[i] - moments.mean) * moments.inverse;
      if (scales.data) value *= scales.at(row, rows.width, i);
      if (biases.data) value += biases.at(row, rows.width, i);
      out[i] = value;
    }
    if (means) means[row] = moments.mean;
    if (inverses) inverses[row] = moments.inverse;
  });
}

RowNorm rowNorm(const Attributes& attributes, bool centred, double epsilon = static_cast<double>(1e-5F)) {
  return {centred, attributes.number("epsilon", epsilon), attributes.integer("axis", -1)};
}

// inputs X, Scale, B?; outputs Y, Mean?, InvStdDev?
Kernel makeLayerNorm(const Attributes& attributes) {
  return [norm = rowNorm(attributes, true)](Call& call) {
    const Array x = call.array(0);
    const Shape reduced = rowShape(x.shape, norm.axis).reduced;
    double* const means = call.wants(1) ? call.output(1, reduced) : nullptr;
    double* const inverses = call.wants(2) ? call.output(2, reduced) : nullptr;
    normalise(call, norm, x.data, x.shape, call.array(1), call.has(2) ? call.array(2) : Array{},
              call.output(0, x.shape), means, inverses);
  };
}

// inputs X, scale; outputs Y, inv_std_var?
Kernel makeRmsNorm(const Attributes& attributes) {
  return [norm = rowNorm(attributes, false)](Call& call) {
    const Array x = call.array(0);
    double* const inverses = call.wants(1) ? call.output(1, rowShape(x.shape, norm.axis).reduced) : nullptr;
    normalise(call, norm, x.data, x.shape, call.array(1), {}, call.output(0, x.shape), nullptr, inverses);
  };
}

// A skip broadcasts over the batch: its shape is the input's, [1, S, H] or [S, H]. The bias has one number per feature.
std::vector<double> sumOf(const Array& input, const Array& skip, const Array& bias) {
  std::vector<double> sum(static_cast<size_t>(input.count()));
  const int64_t width = bias.data ? std::max<int64_t>(bias.count(), 1) : 1;
  forEachPair(input.shape, input.shape, skip.shape, [&](int64_t i, int64_t, int64_t j) {
    sum[static_cast<size_t>(i)] = input.data[i] + skip.data[j] + (bias.data ? bias.data[i % width] : 0.0);
  });
  return sum;
}

void skipNorm(Call& call, const RowNorm& norm, const Array& beta, const Array& bias) {
  const Array input = call.array(0);
  const std::vector<double> sum = sumOf(input, call.array(1), bias);
  const Shape reduced = rowShape(input.shape, norm.axis).reduced;
  double* const means = call.wants(1) ? call.output(1, reduced) : nullptr;
  double* const inverses = call.wants(2) ? call.output(2, reduced) : nullptr;
  normalise(call, norm, sum.data(), input.shape, call.array(2), beta, call.output(0, input.shape), means, inverses);
  if (call.wants(3)) std::ranges::copy(sum, call.output(3, input.shape));
}

Array optionalArray(const Call& call, size_t input) { return call.has(input) ? call.array(input) : Array{}; }

// inputs input, skip, gamma, beta?, bias?; outputs output, mean?, inv_std_var?, input_skip_bias_sum?
Kernel makeSkipLayerNorm(const Attributes& attributes) {
  const RowNorm norm{true, attributes.number("epsilon", static_cast<double>(1e-12F)), -1};
  return [=](Call& call) { skipNorm(call, norm, optionalArray(call, 3), optionalArray(call, 4)); };
}

// inputs input, skip, gamma, bias?; outputs as above
Kernel makeSkipRmsNorm(const Attributes& attributes) {
  const RowNorm norm{false, attributes.number("epsilon", static_cast<double>(1e-12F)), -1};
  return [=](Call& call) { skipNorm(call, norm, {}, optionalArray(call, 3)); };
}

void addRow(const Array& table, int64_t id, int64_t width, double* to) {
  if (id < 0 || id >= table.dim(0)) throw std::runtime_error("an index outside its table");
  for (int64_t i = 0; i < width; ++i) to[i] += table.data[id * width + i];
}

// input_ids, segment_ids?, words, positions, segments?, gamma, beta, mask?, position_ids? -> output, mask_index?, sum?
Kernel makeEmbedLayerNorm(const Attributes& attributes) {
  const RowNorm norm{true, attributes.number("epsilon", static_cast<double>(1e-12F)), -1};
  return [=](Call& call) {
    const Shape ids = call.shapeOf(0);
    const auto words = call.integers(0);
    const auto segments = call.has(1) ? call.integers(1) : std::vector<int64_t>{};
    const auto positions = call.has(8) ? call.integers(8) : std::vector<int64_t>{};
    const Array wordTable = call.array(2), positionTable = call.array(3), segmentTable = optionalArray(call, 4);
    const int64_t batch = ids.at(0), length = ids.at(1), width = wordTable.dim(1);
    const Shape shape{batch, length, width};
    std::vector<double> sum(static_cast<size_t>(product(shape)), 0.0);
    for (int64_t i = 0; i < batch * length; ++i) {
      double* const row = sum.data() + i * width;
      const auto at = static_cast<size_t>(i);
      addRow(wordTable, words[at], width, row);
      const bool sharedPositions = positions.size() == static_cast<size_t>(length);
      addRow(positionTable, positions.empty() ? i % length : positions[sharedPositions ? at % positions.size() : at],
             width, row);
      if (segmentTable.data) addRow(segmentTable, segments.empty() ? 0 : segments[at], width, row);
    }
    normalise(call, norm, sum.data(), shape, call.array(5), call.array(6), call.output(0, shape), nullptr, nullptr);
    if (call.wants(2)) std::ranges::copy(sum, call.output(2, shape));
    if (!call.wants(1)) return;
    int32_t* const counts = call.output32(1, {batch});
    const auto mask = call.has(7) ? call.integers(7) : std::vector<int64_t>{};
    for (int64_t b = 0; b < batch; ++b) {
      counts[b] = 0;
      for (int64_t i = 0; i < length && !mask.empty(); ++i) {
        counts[b] += mask[static_cast<size_t>(b * length + i)] == 1 ? 1 : 0;
      }
    }
  };
}

const KernelRow kRows[] = {
    {"LayerNormalization", "ddD", "dDD", makeLayerNorm},
    {"RMSNormalization", "dd", "dD", makeRmsNorm},
    {"SkipLayerNormalization", "dddDD", "dDDD", makeSkipLayerNorm},
    {"SkipSimplifiedLayerNormalization", "dddD", "dDDD", makeSkipRmsNorm},
    {"EmbedLayerNormalization", "aAddDddAA", "dID", makeEmbedLayerNorm},
};

}  // namespace

std::span<const KernelRow> normKernels() { return kRows; }

}  // namespace normlens::formats::onnx::float64
