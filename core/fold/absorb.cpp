// Constant scales and shifts around a linear layer that move into its weight and bias.

#include <algorithm>
#include <cmath>

#include "core/fold/blocks.h"
#include "core/fold/element_runs.h"
#include "core/fold/work.h"

namespace normlens::fold {

using graph::TensorView;

namespace {

// One product W s: the weight as outputs x inputs, whichever way it is stored.
struct MatrixProduct {
  const std::byte* weight;
  const double* vector;
  int64_t outputs, inputs;
  int64_t outputStride, inputStride;  // in elements
  double* sums;                       // by output
};

// A row of the weight per output.
template <class T>
Work rowProduct(const MatrixProduct& product) {
  const int64_t perUnit = std::max<int64_t>(1, kElementsPerUnit / std::max<int64_t>(1, product.inputs));
  const auto* weight = reinterpret_cast<const T*>(product.weight);
  return {(product.outputs + perUnit - 1) / perUnit, [=](int64_t unit) {
            const int64_t last = std::min(product.outputs, (unit + 1) * perUnit);
            for (int64_t o = unit * perUnit; o < last; ++o) {
              product.sums[o] = dotRow(weight + o * product.outputStride, product.vector, product.inputs);
            }
          }};
}

// A row of the weight per input: blocks of outputs as wide as their sums fit into the first cache, because short runs
// of memory are fetched at half the speed of long ones.
template <class T>
Work columnProduct(const MatrixProduct& product) {
  constexpr int64_t kColumns = 4096;
  const auto* weight = reinterpret_cast<const T*>(product.weight);
  return {(product.outputs + kColumns - 1) / kColumns, [=](int64_t unit) {
            const int64_t first = unit * kColumns;
            const int64_t count = std::min(kColumns, product.outputs - first);
            for (int64_t i = 0; i < product.inputs; ++i) {
              addScaledRow(weight + i * product.inputStride + first, product.sums + first, count, product.vector[i]);
            }
          }};
}

template <class T>
Work elementProduct(const MatrixProduct& product) {
  const auto* weight = reinterpret_cast<const T*>(product.weight);
  return {product.outputs, [=](int64_t o) {
            double sum = 0;
            for (int64_t i = 0; i < product.inputs; ++i) {
              sum += widen(elementAt(weight, o * product.outputStride + i * product.inputStride)) * product.vector[i];
            }
            product.sums[o] = sum;
          }};
}

template <class T>
Work productWork(const MatrixProduct& product) {
  if (product.inputStride == 1) return rowProduct<T>(product);
  if (product.outputStride == 1) return columnProduct<T>(product);
  return elementProduct<T>(product);
}

Status checkShapes(const TensorView& bias, const Product& product) {
  RETURN_IF_ERROR(checkElements(bias));
  if (!graph::isFloat(product.weight.dtype))
    return fail(ErrorCode::Unsupported, "a weight that is to take in a shift is not of a floating type");
  const auto& shape = product.weight.shape;
  const bool fits = shape.size() == 2 && product.weight.strides.size() == 2 &&
                    (product.inputDim == 0 || product.inputDim == 1) &&
                    product.vector.size() == static_cast<size_t>(shape[static_cast<size_t>(product.inputDim)]) &&
                    graph::elementCount(bias.shape) == shape[static_cast<size_t>(1 - product.inputDim)];
  if (!fits) return fail(ErrorCode::Internal, "a shift to absorb does not fit the weight or the bias of its linear");
  return {};
}

// bias + sums, rounded once.
template <class T>
Result<std::vector<T>> sumOf(const std::vector<double>& bias, const std::vector<double>& sums) {
  std::vector<T> out(sums.size());
  for (size_t i = 0; i < sums.size(); ++i) {
    out[i] = narrow<T>(bias[i] + sums[i]);
    if (std::isfinite(bias[i]) && !std::isfinite(widen(out[i]))) {
      return fail(ErrorCode::Refused, "a bias that takes in the shift of a norm becomes too large for its type");
    }
  }
  return out;
}

template <class T>
struct ScaledBlocks {
  TensorView in;
  ElementRuns runs;
  ChannelScale scale;

  Status operator()(int64_t first, std::span<std::byte> out) const {
    mapBlock(in, first, out.size());
    const T* x = reinterpret_cast<const T*>(in.data);
    T* y = reinterpret_cast<T*>(out.data());
    runs.forEach(first, first + static_cast<int64_t>(out.size() / sizeof(T)), [&](const Run& run) {
      for (int64_t i = 0; i < run.count; ++i) {
        const auto channel = static_cast<size_t>(run.group + i * run.groupStep);
        const double addend = scale.addend.empty() ? 0.0 : scale.addend[channel];
        y[run.out - first + i] =
            narrow<T>(widen(elementAt(x, run.in + i * run.inStep)) * scale.factor[channel] + addend);
      }
    });
    return {};
  }
};

}  // namespace

std::vector<double> productOf(const Product& product, int threads) {
  const TensorView& weight = product.weight;
  const auto in = static_cast<size_t>(product.inputDim), out = 1 - in;
  std::vector<double> sums(static_cast<size_t>(weight.shape[out]), 0.0);
  const MatrixProduct matrix{weight.data,         product.vector.data(), weight.shape[out], weight.shape[in],
                             weight.strides[out], weight.strides[in],    sums.data()};
  mapWeightsAhead({weight}, threads);
  withElementType(weight.dtype, [&]<class T>(T*) { runAll({productWork<T>(matrix)}, threads); });
  return sums;
}

Result<Blocks> scaled(const TensorView& in, ChannelScale scale) {
  RETURN_IF_ERROR(checkElements(in));
  const auto axis = static_cast<size_t>(scale.dim);
  if (scale.dim < 0 || axis >= in.shape.size() || scale.factor.size() != static_cast<size_t>(in.shape[axis]) ||
      (!scale.addend.empty() && scale.addend.size() != scale.factor.size())) {
    return fail(ErrorCode::Internal, "a scale to absorb does not have one factor per channel of the weight");
  }
  Blocks blocks;
  withElementType(in.dtype, [&]<class T>(T*) { blocks = ScaledBlocks<T>{in, elementsOf(in, axis), std::move(scale)}; });
  return blocks;
}

Result<Blocks> shifted(const TensorView& bias, const Product& product, int threads) {
  RETURN_IF_ERROR(checkShapes(bias, product));
  Result<Blocks> blocks;
  withElementType(bias.dtype, [&]<class T>(T*) {
    const auto sum = sumOf<T>(*graph::toDoubles(bias), productOf(product, threads));
    if (!sum) {
      blocks = tl::unexpected(sum.error());
      return;
    }
    blocks = [sum = *sum](int64_t first, std::span<std::byte> out) -> Status {
      std::memcpy(out.data(), sum.data() + first, out.size());
      return {};
    };
  });
  return blocks;
}

}  // namespace normlens::fold
