#include "core/fold/center.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <numeric>

#include "core/base/parallel.h"
#include "core/fold/loop_nest.h"
#include "core/fold/work.h"

namespace normlens::fold {
namespace {

using graph::DType;
using graph::TensorView;

// What a block of columns may occupy: its second reading should come from a cache, but runs of memory that are too
// short to be fetched ahead cost more than a larger cache does (measured: 1 MiB takes half as long again as 4).
constexpr int64_t kColumnBlockBytes = int64_t{4} << 20;
constexpr int64_t kMinColumns = 64;

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

Status checkPattern(const TensorView& in, const ops::Pattern& pattern) {
  int64_t elements = 1;
  for (const auto& factor : pattern.factors) {
    if (factor.begin < 0 || factor.end > factor.size || factor.begin >= factor.end) {
      return fail(ErrorCode::Internal, "the region to center is empty or outside the weight: " + pattern.text());
    }
    elements *= factor.size;
  }
  if (elements != graph::elementCount(in.shape)) {
    return fail(ErrorCode::Internal, "the groups to center, " + pattern.text() + ", do not cover the weight");
  }
  return {};
}

// Set by any worker that meets a group whose mean is no number: centering would spread it over the whole group.
using Strange = std::atomic<bool>;

void noteMean(double mean, Strange& strange) {
  if (!std::isfinite(mean)) strange.store(true, std::memory_order_relaxed);
}

Status checkFinite(const Strange& strange) {
  if (!strange.load()) return {};
  return fail(ErrorCode::Refused, "a weight to center holds numbers that are not finite",
              "such a model cannot be folded exactly; check the weights");
}

template <class T>
struct Pointers {
  const T* in;
  T* out;

  Pointers(const CenterJob& job)
      : in(reinterpret_cast<const T*>(job.in.data)), out(reinterpret_cast<T*>(job.out.data())) {}
};

// y = x for every element, whatever the strides.
template <class T>
Work copyWork(const CenterJob& job, const std::vector<int64_t>& strides) {
  std::vector<LoopDim> loops;
  for (size_t i = 0; i < strides.size(); ++i) loops.push_back({job.in.shape[i], job.in.strides[i], strides[i]});
  std::erase_if(loops, [](const LoopDim& loop) { return loop.extent == 1; });
  sortAndMergeLoops(loops);
  if (loops.empty()) loops.push_back({1, 1, 1});
  const LoopDim inner = loops.back();
  loops.pop_back();
  const Pointers<T> at(job);
  if (inner.in == 1 && inner.out == 1 && loops.empty()) {
    return {(inner.extent + kElementsPerUnit - 1) / kElementsPerUnit, [at, inner](int64_t unit) {
              const int64_t begin = unit * kElementsPerUnit;
              const int64_t count = std::min(kElementsPerUnit, inner.extent - begin);
              std::memcpy(at.out + begin, at.in + begin, static_cast<size_t>(count) * sizeof(T));
            }};
  }
  return {iterations(loops), [at, inner, loops](int64_t unit) {
            const Offset start = offsetOf(loops, unit);
            for (int64_t i = 0; i < inner.extent; ++i)
              at.out[start.out + i * inner.out] = elementAt(at.in, start.in + i * inner.in);
          }};
}

// Groups lie along memory: one pass sums a group's rows, the next, from the cache, writes them.
template <class T>
Work rowWork(const CenterJob& job, LoopNest nest, Strange& strange) {
  const int64_t length = nest.summed.back().extent;
  nest.summed.pop_back();
  const int64_t rows = iterations(nest.summed);
  const int64_t groups = iterations(nest.kept);
  const int64_t perUnit = std::max<int64_t>(1, kElementsPerUnit / (rows * length));
  const Pointers<T> at(job);
  return {(groups + perUnit - 1) / perUnit, [=, &strange](int64_t unit) {
            const int64_t last = std::min(groups, (unit + 1) * perUnit);
            for (int64_t group = unit * perUnit; group < last; ++group) {
              const Offset within = offsetOf(nest.kept, group);
              const Offset start{nest.in + within.in, nest.out + within.out};
              double sum = 0;
              forEachOffset(nest.summed, start, [&](Offset row) { sum += sumRow(at.in + row.in, length); });
              const double mean = sum / static_cast<double>(rows * length);
              noteMean(mean, strange);
              forEachOffset(nest.summed, start,
                            [&](Offset row) { subtractFromRow(at.in + row.in, at.out + row.out, length, mean); });
            }
          }};
}

// Neighbours in memory belong to different groups: a block of columns is summed downwards, then written.
template <class T>
Work columnWork(const CenterJob& job, LoopNest nest, Strange& strange) {
  const int64_t columns = nest.kept.back().extent;
  nest.kept.pop_back();
  const int64_t rows = iterations(nest.summed);
  const int64_t fitting = kColumnBlockBytes / (rows * static_cast<int64_t>(sizeof(T))) / kMinColumns * kMinColumns;
  const int64_t width = std::clamp<int64_t>(fitting, std::min(kMinColumns, columns), columns);
  const int64_t blocks = (columns + width - 1) / width;
  const Pointers<T> at(job);
  return {iterations(nest.kept) * blocks, [=, &strange](int64_t unit) {
            const Offset within = offsetOf(nest.kept, unit / blocks);
            const int64_t column = unit % blocks * width;
            const int64_t count = std::min(width, columns - column);
            const Offset start{nest.in + within.in + column, nest.out + within.out + column};
            std::vector<double> means(static_cast<size_t>(count), 0.0);
            forEachOffset(nest.summed, start,
                          [&](Offset row) { addScaledRow(at.in + row.in, means.data(), count, 1); });
            for (double& mean : means) {
              mean /= static_cast<double>(rows);
              noteMean(mean, strange);
            }
            forEachOffset(nest.summed, start,
                          [&](Offset row) { subtractMeans(at.in + row.in, at.out + row.out, count, means.data()); });
          }};
}

// No unit stride anywhere: element by element.
template <class T>
Work elementWork(const CenterJob& job, const LoopNest& nest, Strange& strange) {
  const int64_t size = iterations(nest.summed);
  const int64_t groups = iterations(nest.kept);
  const int64_t perUnit = std::max<int64_t>(1, kElementsPerUnit / size);
  const Pointers<T> at(job);
  return {(groups + perUnit - 1) / perUnit, [=, &strange](int64_t unit) {
            const int64_t last = std::min(groups, (unit + 1) * perUnit);
            for (int64_t group = unit * perUnit; group < last; ++group) {
              const Offset within = offsetOf(nest.kept, group);
              const Offset start{nest.in + within.in, nest.out + within.out};
              double sum = 0;
              forEachOffset(nest.summed, start, [&](Offset x) { sum += widen(elementAt(at.in, x.in)); });
              const double mean = sum / static_cast<double>(size);
              noteMean(mean, strange);
              forEachOffset(nest.summed, start,
                            [&](Offset x) { at.out[x.out] = narrow<T>(widen(elementAt(at.in, x.in)) - mean); });
            }
          }};
}

template <class T>
Work centerWork(const CenterJob& job, LoopNest nest, Strange& strange) {
  sortAndMergeLoops(nest.kept);
  sortAndMergeLoops(nest.summed);
  const auto unitStride = [](const std::vector<LoopDim>& loops) {
    return !loops.empty() && loops.back().in == 1 && loops.back().out == 1;
  };
  if (unitStride(nest.summed)) return rowWork<T>(job, std::move(nest), strange);
  if (unitStride(nest.kept)) return columnWork<T>(job, std::move(nest), strange);
  return elementWork<T>(job, nest, strange);
}

// sums[k] += sum of group k.
template <class T>
void addGroupSums(const CenterJob& job, const LoopNest& nest, std::vector<double>& sums) {
  const Pointers<T> at(job);
  int64_t group = 0;
  forEachOffset(nest.kept, {nest.in, nest.out}, [&](Offset start) {
    double sum = 0;
    forEachOffset(nest.summed, start, [&](Offset x) { sum += widen(elementAt(at.in, x.in)); });
    sums[static_cast<size_t>(group++)] += sum;
  });
}

template <class T>
void subtractGroupMeans(const CenterJob& job, const LoopNest& nest, const std::vector<double>& means) {
  const Pointers<T> at(job);
  int64_t group = 0;
  forEachOffset(nest.kept, {nest.in, nest.out}, [&](Offset start) {
    const double mean = means[static_cast<size_t>(group++)];
    forEachOffset(nest.summed, start,
                  [&](Offset x) { at.out[x.out] = narrow<T>(widen(elementAt(at.in, x.in)) - mean); });
  });
}

Status checkJob(const CenterJob& job) {
  if (auto status = checkFit(job.in, job.out); !status) return status;
  if (job.out.empty()) return {};
  return checkPattern(job.in, job.pattern);
}

}  // namespace

std::vector<int64_t> outputStrides(const TensorView& in) {
  return denseInSomeOrder(in) ? in.strides : rowMajorStrides(in.shape);
}

Status centerTensors(std::span<const CenterJob> jobs, int threads) {
  std::vector<Work> copies;
  std::vector<Work> centerings;
  std::vector<TensorView> weights;
  Strange strange = false;
  for (const auto& job : jobs) {
    weights.push_back(job.in);
    if (auto status = checkJob(job); !status) return status;
    if (job.out.empty()) continue;
    const auto strides = outputStrides(job.in);
    auto nest = makeLoopNest(job.in, strides, job.pattern);
    if (!nest) return tl::unexpected<Error>(nest.error());
    withElementType(job.in.dtype, [&]<class T>(T*) {
      if (!job.pattern.wholeRegion()) copies.push_back(copyWork<T>(job, strides));
      centerings.push_back(centerWork<T>(job, std::move(*nest), strange));
    });
  }
  mapWeightsAhead(weights, threads);
  runAll(copies, threads);
  runAll(centerings, threads);
  return checkFinite(strange);
}

Status centerJointly(std::span<const CenterJob> parts, int threads) {
  if (parts.size() == 1) return centerTensors(parts, threads);
  std::vector<LoopNest> nests;
  std::vector<Work> copies;
  int64_t groupSize = 0;
  for (const auto& part : parts) {
    if (auto status = checkJob(part); !status) return status;
    const auto strides = outputStrides(part.in);
    auto nest = makeLoopNest(part.in, strides, part.pattern);
    if (!nest) return tl::unexpected<Error>(nest.error());
    if (!nests.empty() && iterations(nest->kept) != iterations(nests.front().kept)) {
      return fail(ErrorCode::Internal, "weights to be centered together have different numbers of groups");
    }
    groupSize += iterations(nest->summed);
    mergeLoops(nest->kept);
    sortAndMergeLoops(nest->summed);
    nests.push_back(std::move(*nest));
    if (!part.pattern.wholeRegion()) {
      withElementType(part.in.dtype, [&]<class T>(T*) { copies.push_back(copyWork<T>(part, strides)); });
    }
  }
  if (parts.empty()) return {};
  runAll(copies, threads);
  std::vector<double> means(static_cast<size_t>(iterations(nests.front().kept)), 0.0);
  for (size_t i = 0; i < parts.size(); ++i) {
    withElementType(parts[i].in.dtype, [&]<class T>(T*) { addGroupSums<T>(parts[i], nests[i], means); });
  }
  Strange strange = false;
  for (double& mean : means) {
    mean /= static_cast<double>(groupSize);
    noteMean(mean, strange);
  }
  if (auto finite = checkFinite(strange); !finite) return finite;
  parallelFor(threads, static_cast<int64_t>(parts.size()), [&](int64_t i) {
    const auto part = static_cast<size_t>(i);
    withElementType(parts[part].in.dtype, [&]<class T>(T*) { subtractGroupMeans<T>(parts[part], nests[part], means); });
  });
  return {};
}

}  // namespace normlens::fold
