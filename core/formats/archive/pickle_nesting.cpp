#include "core/formats/archive/pickle_nesting.h"

#include <algorithm>

namespace normlens::formats {

int64_t PickleNesting::depth() const {
  const auto count = static_cast<size_t>(containers_);
  std::vector<int32_t> holders(count);  // that have not been gone through
  std::vector<size_t> firstInside(count + 1);
  for (const auto& [container, inner] : inside_) {
    ++holders[static_cast<size_t>(inner)];
    ++firstInside[static_cast<size_t>(container) + 1];
  }
  for (size_t i = 0; i < count; ++i) firstInside[i + 1] += firstInside[i];
  std::vector<int32_t> inside(inside_.size());
  std::vector<size_t> next(firstInside.begin(), firstInside.end() - 1);
  for (const auto& [container, inner] : inside_) inside[next[static_cast<size_t>(container)]++] = inner;

  std::vector<int32_t> ready;
  for (size_t i = 0; i < count; ++i) {
    if (holders[i] == 0) ready.push_back(static_cast<int32_t>(i));
  }
  std::vector<int64_t> depths(count, 1);
  int64_t deepest = 0;
  size_t done = 0;
  for (; !ready.empty(); ++done) {
    const auto container = static_cast<size_t>(ready.back());
    ready.pop_back();
    deepest = std::max(deepest, depths[container]);
    for (size_t i = firstInside[container]; i < firstInside[container + 1]; ++i) {
      const auto inner = static_cast<size_t>(inside[i]);
      depths[inner] = std::max(depths[inner], depths[container] + 1);
      if (--holders[inner] == 0) ready.push_back(inside[i]);
    }
  }
  return done == count ? deepest : -1;
}

}  // namespace normlens::formats
