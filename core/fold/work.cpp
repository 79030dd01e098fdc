#include "core/fold/work.h"

#include <algorithm>
#include <numeric>

#include "core/base/map_ahead.h"
#include "core/base/parallel.h"
#include "core/fold/blocks.h"

namespace normlens::fold {
namespace {

using graph::TensorView;

std::vector<int64_t> rowMajorStrides(const graph::Shape& shape) {
  std::vector<int64_t> strides(shape.size(), 1);
  for (size_t i = shape.size(); i-- > 1;) strides[i - 1] = strides[i] * shape[i];
  return strides;
}

// Some order of the axes is dense: each stride is the product of the smaller axes.
bool denseInSomeOrder(const TensorView& in) {
  std::vector<size_t> order(in.shape.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return in.strides[a] < in.strides[b]; });
  int64_t expected = 1;
  for (const size_t axis : order) {
    if (in.shape[axis] == 1) continue;
    if (in.strides[axis] != expected) return false;
    expected *= in.shape[axis];
  }
  return true;
}

}  // namespace

void runAll(const std::vector<Work>& works, int threads) {
  std::vector<int64_t> ends;
  int64_t total = 0;
  for (const auto& work : works) ends.push_back(total += work.units);
  parallelFor(threads, total, [&](int64_t unit) {
    const auto end = std::upper_bound(ends.begin(), ends.end(), unit);
    const auto& work = works[static_cast<size_t>(end - ends.begin())];
    work.run(unit - (*end - work.units));
  });
}

void mapWeightsAhead(const std::vector<graph::TensorView>& weights, int threads) {
  std::vector<std::span<const std::byte>> strokes;
  for (const auto& weight : weights) {
    const auto bytes = static_cast<size_t>(graph::byteCount(weight));
    for (size_t at = 0; at < bytes; at += kMapAheadBytes) {
      strokes.emplace_back(weight.data + at, std::min(kMapAheadBytes, bytes - at));
    }
  }
  parallelFor(threads, static_cast<int64_t>(strokes.size()),
              [&](int64_t i) { mapAhead(strokes[static_cast<size_t>(i)]); });
}

Status checkElements(const graph::TensorView& in) {
  if (!graph::isFloat(in.dtype)) {
    return fail(ErrorCode::Unsupported,
                "a tensor of type " + std::string(graph::dtypeName(in.dtype)) + " cannot be centered or scaled");
  }
  if (graph::elementCount(in.shape) && in.strides.size() == in.shape.size()) return {};
  return fail(ErrorCode::Internal, "a weight to change has no size");
}

void mapBlock(const graph::TensorView& in, int64_t first, size_t bytes) {
  if (in.strides != outputStrides(in)) return;
  mapAhead({in.data + first * static_cast<int64_t>(graph::dtypeBytes(in.dtype)), bytes});
}

std::vector<int64_t> outputStrides(const TensorView& in) {
  return denseInSomeOrder(in) ? in.strides : rowMajorStrides(in.shape);
}

}  // namespace normlens::fold
