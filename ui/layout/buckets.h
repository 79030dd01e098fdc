// Numbers sorted into numbered buckets, all in one list.
#pragma once

#include <numeric>
#include <span>
#include <vector>

namespace normlens::layout {

class Buckets {
 public:
  Buckets() = default;
  // each: calls what it is given with (bucket, number) for every number, the same way each time.
  template <class Each>
  Buckets(size_t count, Each each) : start_(count + 1, 0) {
    each([this](size_t bucket, int) { ++start_[bucket + 1]; });
    std::partial_sum(start_.begin(), start_.end(), start_.begin());
    numbers_.resize(static_cast<size_t>(start_.back()));
    std::vector<int> next(start_.begin(), start_.end() - 1);
    each([&](size_t bucket, int number) { numbers_[static_cast<size_t>(next[bucket]++)] = number; });
  }

  [[nodiscard]] std::span<const int> of(size_t bucket) const {
    const auto begin = static_cast<size_t>(start_[bucket]), end = static_cast<size_t>(start_[bucket + 1]);
    return {numbers_.data() + begin, end - begin};
  }

 private:
  std::vector<int> start_, numbers_;  // those of bucket i: numbers_[start_[i]] up to numbers_[start_[i + 1]]
};

}  // namespace normlens::layout
