#include "core/service/tensor_stats.h"

#include <algorithm>
#include <cmath>

namespace normlens::service {
namespace {

constexpr int64_t kMostMeans = 256;

// The elements [begin, begin + count) of the row-major order, where they are.
class Elements {
 public:
  explicit Elements(const graph::TensorView& view) : view_(view) {}

  double at(int64_t index) const {
    int64_t offset = 0;
    for (size_t axis = view_.shape.size(); axis-- > 0;) {
      offset += index % view_.shape[axis] * view_.strides[axis];
      index /= view_.shape[axis];
    }
    graph::TensorView one{
        view_.data + offset * static_cast<int64_t>(graph::dtypeBytes(view_.dtype)), view_.dtype, {}, {}, view_.owner};
    return graph::toDoubles(one)->front();
  }

 private:
  const graph::TensorView& view_;
};

// One slice along the first axis at a time.
template <class Visit>
void forEachSlice(const graph::TensorView& view, Visit visit) {
  if (view.shape.empty()) {
    if (const auto numbers = graph::toDoubles(view)) visit(*numbers);
    return;
  }
  const auto bytes = static_cast<int64_t>(graph::dtypeBytes(view.dtype));
  graph::TensorView slice = view;
  slice.shape.erase(slice.shape.begin());
  slice.strides.erase(slice.strides.begin());
  for (int64_t i = 0; i < view.shape[0]; ++i) {
    slice.data = view.data + i * view.strides[0] * bytes;
    const auto numbers = graph::toDoubles(slice);
    if (!numbers) return;
    visit(*numbers);
  }
}

struct Place {
  int64_t size, stride, begin;
};

// Row-major offsets of group `group`'s first element, and of the elements inside a group.
void split(const ops::Pattern& pattern, std::vector<Place>& kept, std::vector<Place>& summed) {
  int64_t stride = 1;
  for (size_t f = pattern.factors.size(); f-- > 0;) {
    const auto& factor = pattern.factors[f];
    (factor.summed ? summed : kept).push_back({factor.extent(), stride, factor.begin});
    stride *= factor.size;
  }
}

int64_t offsetOf(const std::vector<Place>& places, int64_t index) {
  int64_t offset = 0;
  for (const Place& place : places) {
    offset += (place.begin + index % place.size) * place.stride;
    index /= place.size;
  }
  return offset;
}

int64_t countOf(const std::vector<Place>& places) {
  int64_t count = 1;
  for (const Place& place : places) count *= place.size;
  return count;
}

std::vector<double> groupMeans(const graph::TensorView& view, const ops::Pattern& pattern) {
  std::vector<Place> kept;
  std::vector<Place> summed;
  split(pattern, kept, summed);
  const int64_t groups = countOf(kept);
  const int64_t size = countOf(summed);
  const int64_t shown = std::min(groups, kMostMeans);
  const Elements elements(view);
  std::vector<double> means;
  for (int64_t i = 0; i < shown; ++i) {
    const int64_t first = offsetOf(kept, i * groups / shown);
    double sum = 0;
    for (int64_t k = 0; k < size; ++k) sum += elements.at(first + offsetOf(summed, k));
    means.push_back(sum / static_cast<double>(size));
  }
  return means;
}

}  // namespace

protocol::TensorStats tensorStats(const graph::Constant& constant, const ops::Pattern* centered) {
  const auto& view = constant.view;
  protocol::TensorStats stats;
  stats.name = constant.name;
  stats.dtype = dtypeName(view.dtype);
  stats.shape = view.shape;
  double count = 0;
  double sum = 0;
  double squares = 0;
  forEachSlice(view, [&](const std::vector<double>& numbers) {
    for (const double x : numbers) {
      if (count == 0) stats.min = stats.max = x;
      stats.min = std::min(stats.min, x);
      stats.max = std::max(stats.max, x);
      sum += x;
      squares += x * x;
      ++count;
    }
  });
  if (count > 0) {
    stats.mean = sum / count;
    stats.deviation = std::sqrt(std::max(0.0, squares / count - stats.mean * stats.mean));
  }
  if (centered != nullptr) stats.column_means = groupMeans(view, *centered);
  return stats;
}

}  // namespace normlens::service
