#include "core/formats/safetensors/numbers.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "core/fold/row_kernels.h"
#include "core/fold/work.h"

namespace normlens::formats::safetensors {
namespace {

using graph::Shape;
using graph::TensorView;

Shape withoutOnes(const Shape& shape) {
  Shape out;
  std::ranges::copy_if(shape, std::back_inserter(out), [](int64_t size) { return size != 1; });
  return out;
}

// Calls row(offset in a, offset in b) for each row along the last axis, in row-major order, until it says false.
template <class Row>
void forEachRow(const TensorView& a, const TensorView& b, Row row) {
  const size_t outer = a.shape.empty() ? 0 : a.shape.size() - 1;
  std::vector<int64_t> index(outer, 0);
  int64_t atA = 0, atB = 0;
  for (;;) {
    if (!row(atA, atB)) return;
    size_t axis = outer;
    for (;;) {
      if (axis == 0) return;
      --axis;
      atA += a.strides[axis];
      atB += b.strides[axis];
      if (++index[axis] < a.shape[axis]) break;
      atA -= a.strides[axis] * a.shape[axis];
      atB -= b.strides[axis] * b.shape[axis];
      index[axis] = 0;
    }
  }
}

bool same(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

template <class A, class B>
int64_t countDiffering(const TensorView& a, const TensorView& b, int64_t most) {
  const auto* const dataA = reinterpret_cast<const A*>(a.data);
  const auto* const dataB = reinterpret_cast<const B*>(b.data);
  const int64_t length = a.shape.empty() ? 1 : a.shape.back();
  const int64_t stepA = a.shape.empty() ? 1 : a.strides.back(), stepB = b.shape.empty() ? 1 : b.strides.back();
  int64_t count = 0;
  forEachRow(a, b, [&](int64_t atA, int64_t atB) {
    for (int64_t i = 0; i < length && count <= most; ++i) {
      const double x = fold::widen(fold::elementAt(dataA, atA + i * stepA));
      const double y = fold::widen(fold::elementAt(dataB, atB + i * stepB));
      count += same(x, y) ? 0 : 1;
    }
    return count <= most;
  });
  return count;
}

}  // namespace

std::optional<TensorView> arranged(const TensorView& held, const Shape& wanted, bool exchanged) {
  Shape from = withoutOnes(held.shape);
  const Shape to = withoutOnes(wanted);
  if (exchanged && from.size() != 2) return std::nullopt;
  if (exchanged) std::ranges::reverse(from);
  if (from != to) return std::nullopt;
  TensorView view = held;
  view.shape = wanted;
  view.strides.assign(wanted.size(), 1);
  std::vector<int64_t> strides(to.size(), 1);
  for (size_t i = to.size(); i-- > 1;) strides[i - 1] = strides[i] * to[i];
  if (exchanged) strides = {1, to[0]};
  size_t next = 0;
  for (size_t axis = 0; axis < wanted.size(); ++axis) {
    if (wanted[axis] != 1) view.strides[axis] = strides[next++];
  }
  return view;
}

std::optional<int64_t> differing(const TensorView& a, const TensorView& b, int64_t most) {
  if (a.shape != b.shape || !graph::isFloat(a.dtype) || !graph::isFloat(b.dtype)) return std::nullopt;
  if (graph::elementCount(a.shape).value_or(0) == 0) return 0;
  if (a.data == nullptr || b.data == nullptr) return std::nullopt;
  const bool sameBytes = a.dtype == b.dtype && a.contiguous() && b.contiguous();
  if (sameBytes && std::memcmp(a.data, b.data, static_cast<size_t>(graph::byteCount(a))) == 0) return 0;
  std::optional<int64_t> count;
  fold::withElementType(a.dtype, [&]<class A>(A*) {
    fold::withElementType(b.dtype, [&]<class B>(B*) { count = countDiffering<A, B>(a, b, most); });
  });
  return count;
}

bool sameNumbers(const TensorView& a, const TensorView& b) { return differing(a, b, 0) == 0; }

bool isUniform(const TensorView& view) {
  TensorView first = view;
  std::ranges::fill(first.strides, 0);
  return sameNumbers(view, first);
}

}  // namespace normlens::formats::safetensors
