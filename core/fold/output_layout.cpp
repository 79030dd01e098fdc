#include <algorithm>
#include <numeric>

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

std::vector<int64_t> outputStrides(const TensorView& in) {
  return denseInSomeOrder(in) ? in.strides : rowMajorStrides(in.shape);
}

}  // namespace normlens::fold
