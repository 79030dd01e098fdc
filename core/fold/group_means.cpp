#include "core/fold/group_means.h"

#include <algorithm>
#include <cmath>

#include "core/fold/work.h"

namespace normlens::fold {
namespace {

using graph::TensorView;

// Limits the memory of a block of columns: runs of memory that are too short to be fetched ahead cost more than a
// larger cache does (measured: 1 MiB takes half as long again as 4).
constexpr int64_t kColumnBlockBytes = int64_t{4} << 20;
constexpr int64_t kMinColumns = 64;

template <class T>
const T* elements(const TensorView& in) {
  return reinterpret_cast<const T*>(in.data);
}

// Groups lie along memory.
template <class T>
Work rowMeans(const T* x, LoopNest nest, double* means) {
  const int64_t length = nest.summed.back().extent;
  nest.summed.pop_back();
  const int64_t rows = iterations(nest.summed);
  const int64_t groups = iterations(nest.kept);
  const int64_t perUnit = std::max<int64_t>(1, kElementsPerUnit / (rows * length));
  return {(groups + perUnit - 1) / perUnit, [=](int64_t unit) {
            const int64_t last = std::min(groups, (unit + 1) * perUnit);
            for (int64_t group = unit * perUnit; group < last; ++group) {
              double sum = 0;
              forEachOffset(nest.summed, {nest.in + offsetOf(nest.kept, group).in, 0},
                            [&](Offset row) { sum += sumRow(x + row.in, length); });
              means[group] = sum / static_cast<double>(rows * length);
            }
          }};
}

// Neighbors in memory belong to different groups: a block of columns is summed downwards.
template <class T>
Work columnMeans(const T* x, LoopNest nest, double* means) {
  const int64_t columns = nest.kept.back().extent;
  nest.kept.pop_back();
  const int64_t rows = iterations(nest.summed);
  const int64_t fitting = kColumnBlockBytes / (rows * static_cast<int64_t>(sizeof(T))) / kMinColumns * kMinColumns;
  const int64_t width = std::clamp<int64_t>(fitting, std::min(kMinColumns, columns), columns);
  const int64_t blocks = (columns + width - 1) / width;
  return {iterations(nest.kept) * blocks, [=](int64_t unit) {
            const int64_t outer = unit / blocks, column = unit % blocks * width;
            const int64_t count = std::min(width, columns - column);
            double* sums = means + outer * columns + column;
            std::fill_n(sums, count, 0.0);
            forEachOffset(nest.summed, {nest.in + offsetOf(nest.kept, outer).in + column, 0},
                          [&](Offset row) { addScaledRow(x + row.in, sums, count, 1); });
            for (int64_t i = 0; i < count; ++i) sums[i] /= static_cast<double>(rows);
          }};
}

// No unit stride anywhere: element by element.
template <class T>
Work elementMeans(const T* x, const LoopNest& nest, double* means) {
  const int64_t size = iterations(nest.summed);
  const int64_t groups = iterations(nest.kept);
  const int64_t perUnit = std::max<int64_t>(1, kElementsPerUnit / size);
  return {(groups + perUnit - 1) / perUnit, [=](int64_t unit) {
            const int64_t last = std::min(groups, (unit + 1) * perUnit);
            for (int64_t group = unit * perUnit; group < last; ++group) {
              double sum = 0;
              forEachOffset(nest.summed, {nest.in + offsetOf(nest.kept, group).in, 0},
                            [&](Offset at) { sum += widen(elementAt(x, at.in)); });
              means[group] = sum / static_cast<double>(size);
            }
          }};
}

template <class T>
Work meansWork(const T* x, const LoopNest& nest, double* means) {
  const auto unitStride = [](const std::vector<LoopDim>& loops) { return !loops.empty() && loops.back().in == 1; };
  if (unitStride(nest.summed)) return rowMeans(x, nest, means);
  if (unitStride(nest.kept)) return columnMeans(x, nest, means);
  return elementMeans(x, nest, means);
}

}  // namespace

Result<std::vector<double>> groupMeans(const TensorView& in, const LoopNest& nest, int threads) {
  std::vector<double> means(static_cast<size_t>(iterations(nest.kept)));
  mapWeightsAhead({in}, threads);
  withElementType(in.dtype, [&]<class T>(T*) { runAll({meansWork(elements<T>(in), nest, means.data())}, threads); });
  if (auto status = checkFinite(means); !status) return tl::unexpected(std::move(status.error()));
  return means;
}

void addGroupSums(const TensorView& in, const LoopNest& nest, std::vector<double>& sums) {
  withElementType(in.dtype, [&]<class T>(T*) {
    const T* x = elements<T>(in);
    int64_t group = 0;
    forEachOffset(nest.kept, {nest.in, nest.out}, [&](Offset start) {
      double sum = 0;
      forEachOffset(nest.summed, start, [&](Offset at) { sum += widen(elementAt(x, at.in)); });
      sums[static_cast<size_t>(group++)] += sum;
    });
  });
}

Status checkFinite(const std::vector<double>& means) {
  if (std::ranges::all_of(means, [](double mean) { return std::isfinite(mean); })) return {};
  return notFinite();
}

tl::unexpected<Error> notFinite() {
  return fail(ErrorCode::Refused, "a weight to center holds numbers that are not finite",
              "such a model cannot be folded exactly; check the weights");
}

}  // namespace normlens::fold
