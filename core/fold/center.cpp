// Group means out of constants.
#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include "core/base/result.h"
#include "core/fold/blocks.h"
#include "core/fold/element_runs.h"
#include "core/fold/loop_nest.h"
#include "core/fold/work.h"
#include "core/graph/types.h"

namespace normlens::fold {
namespace {

using graph::TensorView;
using ops::Pattern;

// The means of a weight's groups.

// Limits the memory of a block of columns: runs of memory that are too short to be fetched ahead cost more than a
// larger cache does (measured: 1 MiB takes half as long again as 4).
constexpr int64_t kColumnBlockBytes = int64_t{4} << 20;
constexpr int64_t kMinColumns = 64;

tl::unexpected<Error> notFinite() {
  return fail(ErrorCode::Refused, "a weight to center holds numbers that are not finite",
              "such a model cannot be folded exactly; check the weights");
}

// Centering would spread a number that is not finite over its whole group.
Status checkFinite(const std::vector<double>& means) {
  if (std::ranges::all_of(means, [](double mean) { return std::isfinite(mean); })) return {};
  return notFinite();
}

template <class T>
const T* elements(const TensorView& in) {
  return reinterpret_cast<const T*>(in.data);
}

// Group by group; `sumAt` adds up what lies at one offset of the loops that are summed, of `size` elements in all.
template <class SumAt>
Work meansByGroup(const LoopNest& nest, int64_t size, double* means, const SumAt& sumAt) {
  const int64_t groups = iterations(nest.kept);
  const int64_t perUnit = std::max<int64_t>(1, kElementsPerUnit / size);
  return {(groups + perUnit - 1) / perUnit, [=](int64_t unit) {
            const int64_t last = std::min(groups, (unit + 1) * perUnit);
            for (int64_t group = unit * perUnit; group < last; ++group) {
              double sum = 0;
              forEachOffset(nest.summed, {nest.in + offsetOf(nest.kept, group).in, 0},
                            [&](Offset at) { sum += sumAt(at.in); });
              means[group] = sum / static_cast<double>(size);
            }
          }};
}

// Groups lie along memory.
template <class T>
Work rowMeans(const T* x, LoopNest nest, double* means) {
  const int64_t length = nest.summed.back().extent;
  const int64_t size = iterations(nest.summed);
  nest.summed.pop_back();
  return meansByGroup(nest, size, means, [=](int64_t row) { return sumRow(x + row, length); });
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
  return meansByGroup(nest, iterations(nest.summed), means, [=](int64_t at) { return widen(elementAt(x, at)); });
}

template <class T>
Work meansWork(const T* x, const LoopNest& nest, double* means) {
  const auto unitStride = [](const std::vector<LoopDim>& loops) { return !loops.empty() && loops.back().in == 1; };
  if (unitStride(nest.summed)) return rowMeans(x, nest, means);
  if (unitStride(nest.kept)) return columnMeans(x, nest, means);
  return elementMeans(x, nest, means);
}

// By the combined index of nest.kept; both lists of loops are sorted and merged (sortAndMergeLoops). Refused where one
// is not finite.
Result<std::vector<double>> groupMeans(const TensorView& in, const LoopNest& nest, int threads) {
  std::vector<double> means(static_cast<size_t>(iterations(nest.kept)));
  mapWeightsAhead({in}, threads);
  withElementType(in.dtype, [&]<class T>(T*) { runAll({meansWork(elements<T>(in), nest, means.data())}, threads); });
  RETURN_IF_ERROR(checkFinite(means));
  return means;
}

// sums[k] += the sum of group k.
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

// A group that is summed again for each block that it lies in: two at most where blocks are larger.
constexpr int64_t kLongestOwnRow = int64_t{1} << 14;

Status checkPattern(const TensorView& in, const Pattern& pattern) {
  RETURN_IF_ERROR(checkElements(in));
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

Result<LoopNest> nestOf(const TensorView& in, const Pattern& pattern) {
  RETURN_IF_ERROR(checkPattern(in, pattern));
  return makeLoopNest(in, outputStrides(in), pattern);
}

// Groups numbered by the combined index of the kept loops.
ElementRuns regionRuns(const LoopNest& nest) {
  std::vector<RunDim> dims;
  int64_t groups = 1;
  for (size_t i = nest.kept.size(); i-- > 0;) {
    dims.insert(dims.begin(), {nest.kept[i].extent, nest.kept[i].in, nest.kept[i].out, groups});
    groups *= nest.kept[i].extent;
  }
  for (const LoopDim& loop : nest.summed) dims.push_back({loop.extent, loop.in, loop.out, 0});
  return {std::move(dims), nest.in, nest.out};
}

template <class T>
T* asElements(std::span<std::byte> out) {
  return reinterpret_cast<T*>(out.data());
}

// Copies elements that stay as they are, where the region is not everything.
template <class T>
void copy(const std::optional<ElementRuns>& all, const T* x, T* y, int64_t first, int64_t last) {
  if (!all) return;
  all->forEach(first, last, [&](const Run& run) {
    for (int64_t i = 0; i < run.count; ++i) y[run.out - first + i] = elementAt(x, run.in + i * run.inStep);
  });
}

template <class T>
void subtract(const T* x, T* y, const Run& run, const double* means) {
  if (run.inStep == 1 && run.groupStep == 0) return subtractFromRow(x, y, run.count, means[0]);
  if (run.inStep == 1 && run.groupStep == 1) return subtractMeans(x, y, run.count, means);
  for (int64_t i = 0; i < run.count; ++i)
    y[i] = narrow<T>(widen(elementAt(x, i * run.inStep)) - means[i * run.groupStep]);
}

// Centering can nearly double a number: float16 ends at 65504.
template <class T>
bool areFinite(const T* y, int64_t count) {
  bool finite = true;
  for (int64_t i = 0; i < count; ++i) finite &= std::isfinite(widen(y[i]));
  return finite;
}

tl::unexpected<Error> tooLarge() {
  return fail(ErrorCode::Refused, "a weight that is centered becomes too large for its type");
}

// Whole groups one after another in memory, each short enough to be summed when it is wanted: one reading.
template <class T>
struct OwnRows {
  TensorView in;
  LoopNest nest;
  int64_t length;

  Status operator()(int64_t first, std::span<std::byte> out) const {
    mapBlock(in, first, out.size());
    const T* x = reinterpret_cast<const T*>(in.data) + nest.in;
    T* y = asElements<T>(out);
    const int64_t last = first + static_cast<int64_t>(out.size() / sizeof(T));
    for (int64_t group = first / length; group * length < last; ++group) {
      const T* row = x + offsetOf(nest.kept, group).in;
      const double mean = sumRow(row, length) / static_cast<double>(length);
      if (!std::isfinite(mean)) return notFinite();
      const int64_t start = group * length;
      const int64_t begin = std::max(first, start), end = std::min(last, start + length);
      subtractFromRow(row + (begin - start), y + (begin - first), end - begin, mean);
      if (!areFinite(y + (begin - first), end - begin)) return tooLarge();
    }
    return {};
  }
};

template <class T>
struct GivenMeans {
  TensorView in;
  std::optional<ElementRuns> all;
  ElementRuns region;
  Means means;

  Status operator()(int64_t first, std::span<std::byte> out) const {
    mapBlock(in, first, out.size());
    const T* x = reinterpret_cast<const T*>(in.data);
    T* y = asElements<T>(out);
    const int64_t last = first + static_cast<int64_t>(out.size() / sizeof(T));
    copy(all, x, y, first, last);
    bool finite = true;
    region.forEach(first, last, [&](const Run& run) {
      subtract(x + run.in, y + (run.out - first), run, means->data() + run.group);
      finite = finite && areFinite(y + (run.out - first), run.count);
    });
    return finite ? Status() : tooLarge();
  }
};

// Each element is its own mean, and nothing is left of it.
template <class T>
struct OwnElements {
  TensorView in;
  std::optional<ElementRuns> all;
  ElementRuns region;

  Status operator()(int64_t first, std::span<std::byte> out) const {
    const T* x = reinterpret_cast<const T*>(in.data);
    T* y = asElements<T>(out);
    const int64_t last = first + static_cast<int64_t>(out.size() / sizeof(T));
    bool finite = true;
    copy(all, x, y, first, last);
    region.forEach(first, last, [&](const Run& run) {
      for (int64_t i = 0; i < run.count; ++i) {
        finite = finite && std::isfinite(widen(elementAt(x, run.in + i * run.inStep)));
        y[run.out - first + i] = narrow<T>(0.0);
      }
    });
    return finite ? Status() : notFinite();
  }
};

std::optional<ElementRuns> everywhere(const TensorView& in, const Pattern& pattern) {
  return pattern.wholeRegion() ? std::nullopt : std::optional(elementsOf(in));
}

bool hasOwnRows(const LoopNest& nest, const Pattern& pattern) {
  return pattern.wholeRegion() && nest.summed.size() == 1 && nest.summed[0].in == 1 && nest.summed[0].out == 1 &&
         nest.summed[0].extent <= kLongestOwnRow;
}

template <template <class> class Maker, class... Words>
Blocks blocksOf(graph::DType dtype, Words... words) {
  Blocks made;
  withElementType(dtype, [&]<class T>(T*) { made = Maker<T>{std::move(words)...}; });
  return made;
}

}  // namespace

Result<Blocks> centered(const TensorView& in, const Pattern& pattern, int threads) {
  ASSIGN_OR_RETURN(auto nest, nestOf(in, pattern));
  sortAndMergeLoops(nest.kept);
  sortAndMergeLoops(nest.summed);
  if (nest.summed.empty()) return blocksOf<OwnElements>(in.dtype, in, everywhere(in, pattern), regionRuns(nest));
  if (hasOwnRows(nest, pattern)) return blocksOf<OwnRows>(in.dtype, in, nest, nest.summed[0].extent);
  ASSIGN_OR_RETURN(auto means, groupMeans(in, nest, threads));
  return blocksOf<GivenMeans>(in.dtype, in, everywhere(in, pattern), regionRuns(nest),
                              std::make_shared<const std::vector<double>>(std::move(means)));
}

Result<Means> jointMeans(std::span<const CenterPart> parts) {
  std::vector<double> means;
  int64_t groupSize = 0;
  for (const auto& part : parts) {
    ASSIGN_OR_RETURN(auto nest, nestOf(part.in, part.pattern));
    const auto groups = static_cast<size_t>(iterations(nest.kept));
    if (groupSize == 0) means.assign(groups, 0.0);
    if (means.size() != groups) {
      return fail(ErrorCode::Internal, "weights to be centered together have different numbers of groups");
    }
    groupSize += iterations(nest.summed);
    mergeLoops(nest.kept);
    sortAndMergeLoops(nest.summed);
    addGroupSums(part.in, nest, means);
  }
  for (double& mean : means) mean /= static_cast<double>(groupSize);
  RETURN_IF_ERROR(checkFinite(means));
  return std::make_shared<const std::vector<double>>(std::move(means));
}

Result<Blocks> centeredJointly(const CenterPart& part, Means means) {
  ASSIGN_OR_RETURN(auto nest, nestOf(part.in, part.pattern));
  return blocksOf<GivenMeans>(part.in.dtype, part.in, everywhere(part.in, part.pattern), regionRuns(nest),
                              std::move(means));
}

}  // namespace normlens::fold
