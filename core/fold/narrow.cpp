// Tensors of a zero-mean stream in the basis that needs a channel less, and the weights that read it.

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/fold/blocks.h"
#include "core/fold/element_runs.h"
#include "core/fold/loop_nest.h"
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

// A row: the elements that differ in their channel alone. Rows are numbered in row-major order of the other axes.
std::vector<LoopDim> rowsOf(const TensorView& in, size_t channelAxis) {
  std::vector<LoopDim> rows;
  int64_t next = 1;
  for (size_t axis = in.shape.size(); axis-- > 0;) {
    if (axis == channelAxis) continue;
    rows.insert(rows.begin(), {in.shape[axis], in.strides[axis], next});
    next *= in.shape[axis];
  }
  return rows;
}

// By row the shift of stream_edits.h: matrix by matrix, one where the rows lie in memory like one axis.
std::vector<double> shiftsOf(const TensorView& in, const Narrowing& how, int threads) {
  std::vector<double> vector = how.factor;
  for (double& number : vector) number *= how.channels.ofOthers();
  vector.back() = how.factor.back() * how.channels.ofLast();
  const auto axis = static_cast<size_t>(how.dim);
  auto loops = rowsOf(in, axis);
  std::erase_if(loops, [](const LoopDim& loop) { return loop.extent == 1; });
  mergeLoops(loops);
  LoopDim inner;
  if (!loops.empty()) {
    inner = loops.back();
    loops.pop_back();
  }
  std::vector<double> shifts;
  forEachOffset(loops, {}, [&](Offset start) {
    Product matrix{in, 1, vector};
    matrix.weight.data += start.in * static_cast<int64_t>(graph::dtypeBytes(in.dtype));
    matrix.weight.shape = {inner.extent, in.shape[axis]};
    matrix.weight.strides = {inner.in, in.strides[axis]};
    const auto sums = productOf(matrix, loops.empty() ? threads : 1);
    shifts.insert(shifts.end(), sums.begin(), sums.end());
  });
  return shifts;
}

// Runs through the result: groups count its elements row by row, and `in` is where an element would be that is not
// kept, too.
ElementRuns runsOf(const TensorView& in, const TensorView& out, size_t channelAxis) {
  auto rows = rowsOf(in, channelAxis);
  rows.insert(rows.begin() + static_cast<std::ptrdiff_t>(channelAxis), LoopDim{});
  std::vector<RunDim> dims;
  for (size_t axis = 0; axis < out.shape.size(); ++axis) {
    const int64_t group = axis == channelAxis ? 1 : rows[axis].out * out.shape[channelAxis];
    dims.push_back({out.shape[axis], in.strides[axis], out.strides[axis], group});
  }
  return {std::move(dims), 0, 0};
}

template <class T>
struct NarrowBlocks {
  TensorView in;
  ElementRuns runs;
  Narrowing how;
  std::vector<double> shifts;

  Status operator()(int64_t first, std::span<std::byte> out) const {
    const T* x = reinterpret_cast<const T*>(in.data);
    T* y = reinterpret_cast<T*>(out.data());
    const int64_t width = how.channels.width, kept = how.channels.kept();
    bool finite = true;
    runs.forEach(first, first + static_cast<int64_t>(out.size() / sizeof(T)), [&](const Run& run) {
      const int64_t rowStep = run.groupStep / width, channelStep = run.groupStep % width;
      int64_t row = run.group / width, channel = run.group % width;
      for (int64_t i = 0; i < run.count; ++i) {
        T made = narrow<T>(0.0);
        if (channel < kept) {
          made = narrow<T>(widen(elementAt(x, run.in + i * run.inStep)) * how.factor[static_cast<size_t>(channel)] +
                           shifts[static_cast<size_t>(row)]);
        }
        finite = finite && std::isfinite(widen(made));
        y[run.out - first + i] = made;
        row += rowStep;
        channel += channelStep;
        if (channel < width) continue;
        channel -= width;
        ++row;
      }
    });
    if (finite) return {};
    return fail(ErrorCode::Refused, "a tensor that would lose a channel holds, or would hold, what is not finite");
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

Result<Blocks> narrowed(const TensorView& in, Narrowing how, int threads) {
  RETURN_IF_ERROR(checkElements(in));
  const auto axis = static_cast<size_t>(how.dim);
  const bool fits = how.dim >= 0 && axis < in.shape.size() && in.shape[axis] == how.channels.full &&
                    how.channels.kept() >= 1 && how.channels.width >= how.channels.kept() &&
                    how.factor.size() == static_cast<size_t>(how.channels.full);
  if (!fits) return fail(ErrorCode::Internal, "a tensor that is to lose a channel does not have these channels");
  const TensorView out = narrowLayout(in, how);
  auto shifts = shiftsOf(in, how, threads);
  Blocks blocks;
  withElementType(in.dtype, [&]<class T>(T*) {
    blocks = NarrowBlocks<T>{in, runsOf(in, out, axis), std::move(how), std::move(shifts)};
  });
  return blocks;
}

}  // namespace normlens::fold
