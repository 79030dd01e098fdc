#include "core/fold/finite.h"

#include <algorithm>
#include <atomic>
#include <cmath>

#include "core/fold/loop_nest.h"
#include "core/fold/work.h"

namespace normlens::fold {
namespace {

using graph::TensorView;

// A sum of finite numbers is finite.
template <class T>
Work sumWork(const TensorView& weight, std::atomic<bool>& strange) {
  std::vector<LoopDim> loops;
  for (size_t i = 0; i < weight.shape.size(); ++i) {
    if (weight.shape[i] != 1) loops.push_back({weight.shape[i], weight.strides[i], weight.strides[i]});
  }
  sortAndMergeLoops(loops);
  if (loops.empty()) loops.push_back({1, 1, 1});
  const LoopDim inner = loops.back();
  loops.pop_back();
  const auto* data = reinterpret_cast<const T*>(weight.data);
  const int64_t pieces = (inner.extent + kElementsPerUnit - 1) / kElementsPerUnit;
  return {iterations(loops) * pieces, [=, &strange](int64_t unit) {
            const int64_t first = unit % pieces * kElementsPerUnit;
            const int64_t count = std::min(kElementsPerUnit, inner.extent - first);
            const int64_t start = offsetOf(loops, unit / pieces).in + first * inner.in;
            double sum = 0;
            if (inner.in == 1) {
              sum = sumRow(data + start, count);
            } else {
              for (int64_t i = 0; i < count; ++i) sum += widen(elementAt(data, start + i * inner.in));
            }
            if (!std::isfinite(sum)) strange.store(true, std::memory_order_relaxed);
          }};
}

}  // namespace

std::vector<bool> holdNonFinite(std::span<const TensorView> weights, int threads) {
  std::vector<std::atomic<bool>> strange(weights.size());
  std::vector<Work> works;
  for (size_t i = 0; i < weights.size(); ++i) {
    const TensorView& weight = weights[i];
    if (weight.data == nullptr || graph::elementCount(weight.shape).value_or(0) == 0) continue;
    withElementType(weight.dtype, [&]<class T>(T*) { works.push_back(sumWork<T>(weight, strange[i])); });
  }
  mapWeightsAhead({weights.begin(), weights.end()}, threads);
  runAll(works, threads);
  return {strange.begin(), strange.end()};
}

}  // namespace normlens::fold
