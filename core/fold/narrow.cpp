// Tensors of a zero-mean stream without their last channel, and the weights that read it.

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/fold/blocks.h"
#include "core/fold/element_runs.h"
#include "core/fold/work.h"

namespace normlens::fold {

using graph::TensorView;

namespace {

// Dense, the axes in the order of their strides in `like`.
std::vector<int64_t> denseStrides(const graph::Shape& shape, const std::vector<int64_t>& like) {
  std::vector<size_t> order(shape.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return like[a] > like[b]; });
  std::vector<int64_t> strides(shape.size(), 1);
  int64_t next = 1;
  for (size_t i = order.size(); i-- > 0;) {
    strides[order[i]] = next;
    next *= shape[order[i]];
  }
  return strides;
}

// Runs through the result: groups are channels, and `in` is where an element would be that is not kept, too.
ElementRuns runsOf(const TensorView& in, const TensorView& out, size_t channelAxis) {
  std::vector<RunDim> dims;
  for (size_t axis = 0; axis < out.shape.size(); ++axis)
    dims.push_back({out.shape[axis], in.strides[axis], out.strides[axis], axis == channelAxis ? 1 : 0});
  return {std::move(dims), 0, 0};
}

template <class T>
struct NarrowBlocks {
  TensorView in;
  ElementRuns runs;
  Narrowing how;

  Status operator()(int64_t first, std::span<std::byte> out) const {
    const T* x = reinterpret_cast<const T*>(in.data);
    T* y = reinterpret_cast<T*>(out.data());
    bool finite = true;
    runs.forEach(first, first + static_cast<int64_t>(out.size() / sizeof(T)), [&](const Run& run) {
      for (int64_t i = 0; i < run.count; ++i) {
        const T made = elementOf(x, run.in + i * run.inStep, run.group + i * run.groupStep);
        finite = finite && std::isfinite(widen(made));
        y[run.out - first + i] = made;
      }
    });
    if (finite) return {};
    return fail(ErrorCode::Refused, "a tensor that would lose a channel holds, or would hold, what is not finite");
  }

 private:
  [[nodiscard]] T elementOf(const T* x, int64_t at, int64_t channel) const {
    if (channel >= how.channels.kept()) return narrow<T>(0.0);
    if (how.factor.empty()) return elementAt(x, at);
    const int64_t last = at + (how.channels.kept() - channel) * in.strides[static_cast<size_t>(how.dim)];
    return narrow<T>(widen(elementAt(x, at)) * how.factor[static_cast<size_t>(channel)] -
                     widen(elementAt(x, last)) * how.factor.back());
  }
};

}  // namespace

TensorView narrowLayout(const TensorView& in, const Narrowing& how) {
  TensorView out;
  out.dtype = in.dtype;
  out.shape = in.shape;
  out.shape.at(static_cast<size_t>(how.dim)) = how.channels.width;
  out.strides = denseStrides(out.shape, in.strides);
  return out;
}

Result<Blocks> narrowed(const TensorView& in, Narrowing how) {
  RETURN_IF_ERROR(checkElements(in));
  const auto axis = static_cast<size_t>(how.dim);
  const bool fits = how.dim >= 0 && axis < in.shape.size() && in.shape[axis] == how.channels.full &&
                    how.channels.kept() >= 1 && how.channels.width >= how.channels.kept() &&
                    (how.factor.empty() || how.factor.size() == static_cast<size_t>(how.channels.full));
  if (!fits) return fail(ErrorCode::Internal, "a tensor that is to lose a channel does not have these channels");
  const TensorView out = narrowLayout(in, how);
  Blocks blocks;
  withElementType(in.dtype, [&]<class T>(T*) { blocks = NarrowBlocks<T>{in, runsOf(in, out, axis), std::move(how)}; });
  return blocks;
}

}  // namespace normlens::fold
