// Group means out of constants.
#include <algorithm>
#include <cmath>
#include <optional>

#include "core/fold/blocks.h"
#include "core/fold/element_runs.h"
#include "core/fold/group_means.h"
#include "core/fold/loop_nest.h"
#include "core/fold/work.h"

namespace normlens::fold {
namespace {

using graph::TensorView;
using ops::Pattern;

// A group that is summed again for each block that it lies in: two at most where blocks are larger.
constexpr int64_t kLongestOwnRow = int64_t{1} << 14;

Status checkPattern(const TensorView& in, const Pattern& pattern) {
  if (auto status = checkElements(in); !status) return status;
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
  if (auto status = checkPattern(in, pattern); !status) return tl::unexpected(std::move(status.error()));
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
  auto nest = nestOf(in, pattern);
  if (!nest) return tl::unexpected(nest.error());
  sortAndMergeLoops(nest->kept);
  sortAndMergeLoops(nest->summed);
  if (nest->summed.empty()) return blocksOf<OwnElements>(in.dtype, in, everywhere(in, pattern), regionRuns(*nest));
  if (hasOwnRows(*nest, pattern)) return blocksOf<OwnRows>(in.dtype, in, *nest, nest->summed[0].extent);
  auto means = groupMeans(in, *nest, threads);
  if (!means) return tl::unexpected(means.error());
  return blocksOf<GivenMeans>(in.dtype, in, everywhere(in, pattern), regionRuns(*nest),
                              std::make_shared<const std::vector<double>>(std::move(*means)));
}

Result<Means> jointMeans(std::span<const CenterPart> parts) {
  std::vector<double> means;
  int64_t groupSize = 0;
  for (const auto& part : parts) {
    auto nest = nestOf(part.in, part.pattern);
    if (!nest) return tl::unexpected(nest.error());
    const auto groups = static_cast<size_t>(iterations(nest->kept));
    if (groupSize == 0) means.assign(groups, 0.0);
    if (means.size() != groups) {
      return fail(ErrorCode::Internal, "weights to be centered together have different numbers of groups");
    }
    groupSize += iterations(nest->summed);
    mergeLoops(nest->kept);
    sortAndMergeLoops(nest->summed);
    addGroupSums(part.in, *nest, means);
  }
  for (double& mean : means) mean /= static_cast<double>(groupSize);
  if (auto status = checkFinite(means); !status) return tl::unexpected(std::move(status.error()));
  return std::make_shared<const std::vector<double>>(std::move(means));
}

Result<Blocks> centeredJointly(const CenterPart& part, Means means) {
  auto nest = nestOf(part.in, part.pattern);
  if (!nest) return tl::unexpected(nest.error());
  return blocksOf<GivenMeans>(part.in.dtype, part.in, everywhere(part.in, part.pattern), regionRuns(*nest),
                              std::move(means));
}

}  // namespace normlens::fold
