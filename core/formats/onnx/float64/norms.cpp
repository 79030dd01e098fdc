// LayerNorm and RMSNorm, alone and fused with what is before them, and norms of channels.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/formats/onnx/float64/kernel.h"

namespace normlens::formats::onnx::float64 {
namespace {

// y = (x - mean) inverse scale + bias over the trailing axes from `axis`.
struct RowNorm {
  bool centred = true;
  double epsilon = 1e-5;
  int64_t axis = -1;
};

constexpr int64_t kRowsPerPiece = 64;

struct RowShape {
  int64_t rows = 0, width = 0;
  Shape reduced;  // The means' shape: trailing axes 1.
};

RowShape rowShape(const Shape& shape, int64_t axis) {
  const auto rank = static_cast<int64_t>(shape.size());
  const int64_t first = axis < 0 ? axis + rank : axis;
  if (first < 0 || first > rank) throw std::runtime_error("an axis outside the input");
  RowShape rows;
  const auto split = static_cast<size_t>(first);
  rows.rows = product(shape, 0, split);
  rows.width = product(shape, split, shape.size());
  rows.reduced = shape;
  std::fill(rows.reduced.begin() + first, rows.reduced.end(), 1);
  return rows;
}

struct Moments {
  double mean = 0;
  double inverse = 1;  // 1 / sqrt(variance + epsilon)
};

// In two passes: the yardstick must not cancel. Not centered: the mean counts as 0.
Moments momentsOf(const double* x, int64_t count, const RowNorm& norm) {
  Moments moments;
  const auto n = static_cast<double>(count);
  if (norm.centred) moments.mean = std::accumulate(x, x + count, 0.0) / n;
  double squares = 0;
  for (int64_t i = 0; i < count; ++i) squares += (x[i] - moments.mean) * (x[i] - moments.mean);
  moments.inverse = 1 / std::sqrt(squares / n + norm.epsilon);
  return moments;
}

// Returns for each element where a broadcast scale or bias has its number; empty where there is no scale or bias.
std::vector<int64_t> offsetsOf(const Array& array, const Shape& shape) {
  std::vector<int64_t> offsets;
  if (!array.data) return offsets;
  if (broadcast(shape, array.shape) != shape) throw std::runtime_error("a scale that does not fit the input");
  offsets.reserve(static_cast<size_t>(product(shape)));
  forEachPair(shape, array.shape, {}, [&](int64_t, int64_t offset, int64_t) { offsets.push_back(offset); });
  return offsets;
}

// Writes y, and the outputs of those numbers that are wanted; 0: the operator has none.
void normalise(Call& call, const RowNorm& norm, const double* x, const Shape& shape, const Array& scale,
               const Array& bias, double* y, size_t meanOutput = 0, size_t inverseOutput = 0) {
  const RowShape rows = rowShape(shape, norm.axis);
  const auto scales = offsetsOf(scale, shape), biases = offsetsOf(bias, shape);
  const auto wanted = [&](size_t output) {
    return output > 0 && call.wants(output) ? call.output(output, rows.reduced) : nullptr;
  };
  double* const means = wanted(meanOutput);
  double* const inverses = wanted(inverseOutput);
  call.parallel((rows.rows + kRowsPerPiece - 1) / kRowsPerPiece, [&](int64_t piece) {
    const int64_t end = std::min(rows.rows, (piece + 1) * kRowsPerPiece);
    for (int64_t row = piece * kRowsPerPiece; row < end; ++row) {
      const Moments moments = momentsOf(x + row * rows.width, rows.width, norm);
      for (int64_t i = row * rows.width; i < (row + 1) * rows.width; ++i) {
        const auto at = static_cast<size_t>(i);
        y[i] = (x[i] - moments.mean) * moments.inverse;
        if (scale.data) y[i] *= scale.data[scales[at]];
        if (bias.data) y[i] += bias.data[biases[at]];
      }
      if (means) means[row] = moments.mean;
      if (inverses) inverses[row] = moments.inverse;
    }
  });
}

// inputs X, Scale, B?; outputs Y, Mean?, InvStdDev?; of an RMSNorm Y, InvStdDev?
template <bool kCentred>
Kernel makeNorm(const Attributes& attributes) {
  const RowNorm norm{kCentred, attributes.number("epsilon", static_cast<double>(1e-5F)),
                     attributes.integer("axis", -1)};
  return [=](Call& call) {
    const Array x = call.array(0);
    normalise(call, norm, x.data, x.shape, call.array(1), kCentred ? call.optionalArray(2) : Array{},
              call.output(0, x.shape), kCentred ? 1 : 0, kCentred ? 2 : 1);
  };
}

// X, scale, bias: GroupNormalization, with one number per group (opset 18) or per channel (21). Without groups it is
// InstanceNormalization, whose channels are each a group.
Kernel makeGroupNorm(const Attributes& attributes) {
  const RowNorm norm{true, attributes.number("epsilon", static_cast<double>(1e-5F)), 2};
  return [norm, given = attributes.integer("num_groups", 0)](Call& call) {
    const Array x = call.array(0);
    Array scale = call.array(1), bias = call.array(2);
    const int64_t channels = x.dim(1), groups = given == 0 ? channels : given;
    if (groups < 1 || channels % groups != 0) throw std::runtime_error("channels that do not divide into the groups");
    const int64_t perGroup = channels / groups;
    const int64_t numbers = scale.count() == channels ? channels : groups;
    if (scale.count() != numbers || bias.count() != numbers) throw std::runtime_error("another number of scales");
    scale.shape = bias.shape = {groups, numbers / groups, 1};
    normalise(call, norm, x.data, {x.dim(0), groups, perGroup, product(x.shape, 2, x.shape.size())}, scale, bias,
              call.output(0, x.shape));
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

// inputs input, skip, gamma, beta? (of a LayerNorm), bias?; outputs output, mean?, inv_std_var?, input_skip_bias_sum?
template <bool kCentred>
Kernel makeSkipNorm(const Attributes& attributes) {
  const RowNorm norm{kCentred, attributes.number("epsilon", static_cast<double>(1e-12F)), -1};
  return [=](Call& call) {
    const Array input = call.array(0);
    const std::vector<double> sum = sumOf(input, call.array(1), call.optionalArray(kCentred ? 4 : 3));
    normalise(call, norm, sum.data(), input.shape, call.array(2), kCentred ? call.optionalArray(3) : Array{},
              call.output(0, input.shape), 1, 2);
    if (call.wants(3)) std::ranges::copy(sum, call.output(3, input.shape));
  };
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
    const auto segments = call.optionalIntegers(1), positions = call.optionalIntegers(8);
    const Array wordTable = call.array(2), positionTable = call.array(3), segmentTable = call.optionalArray(4);
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
    normalise(call, norm, sum.data(), shape, call.array(5), call.array(6), call.output(0, shape));
    if (call.wants(2)) std::ranges::copy(sum, call.output(2, shape));
    if (!call.wants(1)) return;
    int32_t* const counts = call.output32(1, {batch});
    const auto mask = call.optionalIntegers(7);
    for (int64_t b = 0; b < batch; ++b) {
      counts[b] = 0;
      for (int64_t i = 0; i < length && !mask.empty(); ++i) {
        counts[b] += mask[static_cast<size_t>(b * length + i)] == 1 ? 1 : 0;
      }
    }
  };
}

const KernelRow kNormKernels[] = {
    {"LayerNormalization", "ddD", "dDD", makeNorm<true>, "LayerNormalization com.microsoft.LayerNormalization"},
    {"RMSNormalization", "dd", "dD", makeNorm<false>,
     "RMSNormalization SimplifiedLayerNormalization com.microsoft.SimplifiedLayerNormalization"},
    {"SkipLayerNormalization", "dddDD", "dDDD", makeSkipNorm<true>, "com.microsoft.SkipLayerNormalization"},
    {"SkipSimplifiedLayerNormalization", "dddD", "dDDD", makeSkipNorm<false>,
     "com.microsoft.SkipSimplifiedLayerNormalization"},
    {"EmbedLayerNormalization", "aAddDddAA", "dID", makeEmbedLayerNorm, "com.microsoft.EmbedLayerNormalization", 2},
    {"GroupNormalization", "ddd", "d", makeGroupNorm, "GroupNormalization InstanceNormalization"},
};

}  // namespace

std::span<const KernelRow> normKernels() { return kNormKernels; }

}  // namespace normlens::formats::onnx::float64
