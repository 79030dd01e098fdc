#include "core/fold/absorb.h"

#include <algorithm>
#include <cmath>

#include "core/base/parallel.h"
#include "core/fold/center.h"
#include "core/fold/loop_nest.h"
#include "core/fold/work.h"

namespace normlens::fold {

using graph::TensorView;

namespace {

// One product W s: the weight as outputs x inputs, whichever way it is stored.
struct Product {
  const TensorView* weight;
  const std::vector<double>* shift;
  int64_t outputs, inputs;
  int64_t outputStride, inputStride;  // in elements
  std::vector<double>* sums;          // by output
};

// A row of the weight per output.
template <class T>
Work rowProduct(const Product& product) {
  const int64_t perUnit = std::max<int64_t>(1, kElementsPerUnit / std::max<int64_t>(1, product.inputs));
  const auto* weight = reinterpret_cast<const T*>(product.weight->data);
  return {(product.outputs + perUnit - 1) / perUnit, [=](int64_t unit) {
            const int64_t last = std::min(product.outputs, (unit + 1) * perUnit);
            for (int64_t o = unit * perUnit; o < last; ++o) {
              (*product.sums)[static_cast<size_t>(o)] =
                  dotRow(weight + o * product.outputStride, product.shift->data(), product.inputs);
            }
          }};
}

// A row of the weight per input: blocks of outputs as wide as their sums fit into the first cache, because short runs
// of memory are fetched at half the speed of long ones.
template <class T>
Work columnProduct(const Product& product) {
  constexpr int64_t kColumns = 4096;
  const auto* weight = reinterpret_cast<const T*>(product.weight->data);
  return {(product.outputs + kColumns - 1) / kColumns, [=](int64_t unit) {
            const int64_t first = unit * kColumns;
            const int64_t count = std::min(kColumns, product.outputs - first);
            double* sums = product.sums->data() + first;
            for (int64_t i = 0; i < product.inputs; ++i) {
              addScaledRow(weight + i * product.inputStride + first, sums, count,
                           (*product.shift)[static_cast<size_t>(i)]);
            }
          }};
}

template <class T>
Work elementProduct(const Product& product) {
  const auto* weight = reinterpret_cast<const T*>(product.weight->data);
  return {product.outputs, [=](int64_t o) {
            double sum = 0;
            for (int64_t i = 0; i < product.inputs; ++i) {
              sum += widen(elementAt(weight, o * product.outputStride + i * product.inputStride)) *
                     (*product.shift)[static_cast<size_t>(i)];
            }
            (*product.sums)[static_cast<size_t>(o)] = sum;
          }};
}

template <class T>
Work productWork(const Product& product) {
  if (product.inputStride == 1) return rowProduct<T>(product);
  if (product.outputStride == 1) return columnProduct<T>(product);
  return elementProduct<T>(product);
}

Status checkShapes(const ShiftJob& job) {
  if (auto status = checkFit(job.bias, job.out); !status) return status;
  const auto& shape = job.weight.shape;
  const bool fits = shape.size() == 2 && job.weight.strides.size() == 2 && (job.inputDim == 0 || job.inputDim == 1) &&
                    graph::elementCount(job.shift.shape) == shape[static_cast<size_t>(job.inputDim)] &&
                    graph::elementCount(job.bias.shape) == shape[static_cast<size_t>(1 - job.inputDim)];
  if (!fits) return fail(ErrorCode::Internal, "a shift to absorb does not fit the weight or the bias of its linear");
  return {};
}

// bias + sums, rounded once.
template <class T>
Status addToBias(const ShiftJob& job, const std::vector<double>& bias, const std::vector<double>& sums) {
  auto* out = reinterpret_cast<T*>(job.out.data());
  for (size_t i = 0; i < sums.size(); ++i) {
    out[i] = narrow<T>(bias[i] + sums[i]);
    if (std::isfinite(bias[i]) && !std::isfinite(widen(out[i]))) {
      return fail(ErrorCode::Refused, "a bias that takes in the shift of a norm becomes too large for its type");
    }
  }
  return {};
}

}  // namespace

Status scaleTensor(const TensorView& in, std::span<const double> factor, std::span<const double> addend, int dim,
                   std::span<std::byte> out, int threads) {
  if (auto status = checkFit(in, out); !status) return status;
  const auto axis = static_cast<size_t>(dim);
  if (dim < 0 || axis >= in.shape.size() || factor.size() != static_cast<size_t>(in.shape[axis]) ||
      (!addend.empty() && addend.size() != factor.size())) {
    return fail(ErrorCode::Internal, "a scale to absorb does not have one factor per channel of the weight");
  }
  const auto strides = outputStrides(in);
  std::vector<LoopDim> loops;
  for (size_t i = 0; i < strides.size(); ++i) {
    if (i != axis) loops.push_back({in.shape[i], in.strides[i], strides[i]});
  }
  sortAndMergeLoops(loops);
  withElementType(in.dtype, [&]<class T>(T*) {
    const auto* x = reinterpret_cast<const T*>(in.data);
    auto* y = reinterpret_cast<T*>(out.data());
    parallelFor(threads, in.shape[axis], [&](int64_t channel) {
      const double scale = factor[static_cast<size_t>(channel)];
      const double shift = addend.empty() ? 0.0 : addend[static_cast<size_t>(channel)];
      forEachOffset(loops, {channel * in.strides[axis], channel * strides[axis]},
                    [&](Offset at) { y[at.out] = narrow<T>(widen(elementAt(x, at.in)) * scale + shift); });
    });
  });
  return {};
}

Status absorbShifts(std::span<const ShiftJob> jobs, int threads) {
  std::vector<std::vector<double>> shifts(jobs.size()), sums(jobs.size());
  std::vector<Work> works;
  std::vector<TensorView> weights;
  for (size_t i = 0; i < jobs.size(); ++i) {
    const ShiftJob& job = jobs[i];
    weights.push_back(job.weight);
    if (auto status = checkShapes(job); !status) return status;
    auto numbers = graph::toDoubles(job.shift);
    if (!numbers) return fail(ErrorCode::Unsupported, "a shift to absorb is not of a real floating type");
    shifts[i] = std::move(*numbers);
    const auto in = static_cast<size_t>(job.inputDim), out = 1 - in;
    sums[i].assign(static_cast<size_t>(job.weight.shape[out]), 0.0);
    const Product product{&job.weight,
                          &shifts[i],
                          job.weight.shape[out],
                          job.weight.shape[in],
                          job.weight.strides[out],
                          job.weight.strides[in],
                          &sums[i]};
    const bool known =
        withElementType(job.weight.dtype, [&]<class T>(T*) { works.push_back(productWork<T>(product)); });
    if (!known) return fail(ErrorCode::Unsupported, "a weight that is to take in a shift is not of a floating type");
  }
  mapWeightsAhead(weights, threads);
  runAll(works, threads);
  for (size_t i = 0; i < jobs.size(); ++i) {
    const auto bias = graph::toDoubles(jobs[i].bias);
    Status status;
    withElementType(jobs[i].bias.dtype, [&]<class T>(T*) { status = addToBias<T>(jobs[i], *bias, sums[i]); });
    if (!status) return status;
  }
  return {};
}

}  // namespace normlens::fold
