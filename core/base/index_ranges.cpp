#include "core/base/index_ranges.h"

#include <numeric>

namespace normlens {
namespace {

// Returns the first range that ends at `index` or behind it.
template <class Ranges>
auto reaching(const Ranges& ranges, int index) {
  return std::partition_point(ranges.begin(), ranges.end(),
                              [index](const IndexRange& range) { return range.last < index; });
}

}  // namespace

IndexRanges::IndexRanges(std::initializer_list<int> indices) {
  for (const int index : indices) {
    if (!append({index, index})) merge({index});
  }
}

bool IndexRanges::merge(const IndexRanges& other) {
  const bool covered = std::all_of(other.ranges_.begin(), other.ranges_.end(), [this](const IndexRange& range) {
    const auto at = reaching(ranges_, range.last);
    return at != ranges_.end() && at->first <= range.first;
  });
  if (covered) return false;
  SmallVector<IndexRange, 4> all(ranges_.size() + other.ranges_.size());
  std::merge(ranges_.begin(), ranges_.end(), other.ranges_.begin(), other.ranges_.end(), all.begin(),
             [](const IndexRange& a, const IndexRange& b) { return a.first < b.first; });
  ranges_.clear();
  for (const IndexRange& range : all) {
    if (!ranges_.empty() && range.first - 1 <= ranges_.back().last) {
      ranges_.back().last = std::max(ranges_.back().last, range.last);
    } else {
      ranges_.push_back(range);
    }
  }
  return true;
}

bool IndexRanges::append(IndexRange range) {
  const bool behind = ranges_.empty() || range.first - 1 > ranges_.back().last;
  if (!behind || range.first < 0 || range.last < range.first) return false;
  ranges_.push_back(range);
  return true;
}

void IndexRanges::remove(int index) {
  const auto found = reaching(ranges_, index);
  if (found == ranges_.end() || found->first > index) return;
  const auto at = ranges_.begin() + (found - ranges_.cbegin());
  const IndexRange behind{index + 1, at->last};
  at->last = index - 1;
  auto next = at + 1;
  if (at->last < at->first) next = ranges_.erase(at);
  if (behind.first <= behind.last) ranges_.insert(next, behind);
}

bool IndexRanges::contains(int index) const {
  const auto at = reaching(ranges_, index);
  return at != ranges_.end() && at->first <= index;
}

int64_t IndexRanges::size() const {
  return std::accumulate(ranges_.begin(), ranges_.end(), int64_t{0},
                         [](int64_t sum, const IndexRange& range) { return sum + range.last - range.first + 1; });
}

std::vector<int> IndexRanges::indices(size_t most) const {
  std::vector<int> out;
  out.reserve(std::min(most, static_cast<size_t>(size())));
  for (const IndexRange& range : ranges_) {
    for (int index = range.first; index <= range.last && out.size() < most; ++index) out.push_back(index);
  }
  return out;
}

}  // namespace normlens
