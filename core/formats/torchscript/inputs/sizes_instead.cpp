#include "core/formats/torchscript/inputs/sizes_instead.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

namespace normlens::formats::torchscript {
namespace {

// Distinct sizes in the order in which they were found; 1 hides what would go wrong with others, so it comes last.
class Sizes {
 public:
  Sizes(int64_t now, int64_t most) : now_(now), most_(most) {}
  void add(int64_t size) {
    if (size < 1 || size > most_ || size == now_ || std::ranges::find(found_, size) != found_.end()) return;
    found_.push_back(size);
  }
  std::vector<int64_t> take() {
    std::ranges::stable_partition(found_, [](int64_t size) { return size > 1; });
    return std::move(found_);
  }

 private:
  int64_t now_, most_;
  std::vector<int64_t> found_;
};

bool divides(int64_t a, int64_t b) { return a % b == 0 || b % a == 0; }

int64_t rootOf(int64_t square) {
  const auto root = static_cast<int64_t>(std::llround(std::sqrt(static_cast<double>(square))));
  return root * root == square ? root : 0;
}

}  // namespace

std::vector<int64_t> sizesInstead(int64_t size, const std::vector<int64_t>& numbers, int64_t most) {
  Sizes sizes(size, most);
  const auto forPairs = [&](auto&& propose) {
    for (const int64_t has : numbers) {
      for (const int64_t wants : numbers) {
        if (has != wants) propose(has, wants);
      }
    }
  };
  forPairs([&](int64_t has, int64_t wants) {
    if (has == size) sizes.add(wants);
  });
  forPairs([&](int64_t has, int64_t wants) {
    constexpr int64_t kSmall = int64_t{1} << 31;
    if (divides(has, size) && wants < kSmall && size * wants % has == 0) sizes.add(size * wants / has);
  });
  forPairs([&](int64_t has, int64_t wants) {
    constexpr int64_t kSmall = int64_t{1} << 36, kExtraTokens = 2, kMostSide = 4096;
    if (size > kMostSide) return;
    for (int64_t extra = 0; extra <= kExtraTokens && extra < std::min(has, wants); ++extra) {
      const int64_t square = size * size, had = has - extra, wanted = wants - extra;
      if (wanted < kSmall && divides(had, square) && square * wanted % had == 0)
        sizes.add(rootOf(square * wanted / had));
    }
  });
  forPairs([&](int64_t has, int64_t wants) {
    constexpr int64_t kMostExtra = 4;
    if (std::abs(has - size) <= kMostExtra) sizes.add(size + wants - has);
  });
  return sizes.take();
}

}  // namespace normlens::formats::torchscript
