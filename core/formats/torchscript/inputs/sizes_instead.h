// Guessing a size from numbers that did not fit together. No torch here.
#pragma once

#include <cstdint>
#include <vector>

namespace normlens::formats::torchscript {

// What a size might have to be where these numbers met: a size further on is thought to be this one, a multiple or part
// of it, its square (patches of an image) or it and a few more (extra tokens). Those of at most `most`.
[[nodiscard]] std::vector<int64_t> sizesInstead(int64_t size, const std::vector<int64_t>& numbers, int64_t most);

}  // namespace normlens::formats::torchscript
