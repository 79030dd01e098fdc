// How large a tensor a GPU is measured with, and how many of them.
#pragma once

#include <algorithm>
#include <cstdint>

namespace normlens::bench {

inline constexpr int64_t kBacklogBytes = int64_t{512} << 20;  // of the copy that is queued before each measurement

// While the largest op is timed, x, a residual and the two outputs of this call and of the last one are there: six
// tensors, and what torch makes on the way.
constexpr int64_t largestTensorOnGpu(int64_t freeBytes) {
  constexpr int64_t kAtOnce = 8;
  constexpr int64_t kMost = int64_t{8} << 30;
  return std::clamp<int64_t>((freeBytes - kBacklogBytes) / kAtOnce, 0, kMost);
}

// So many inputs take turns, and so many outputs are kept, that the second-level cache of a GPU (50 MB of an H100)
// holds none of them: what one call reads was last touched 256 MB ago.
constexpr int64_t setsOnGpu(int64_t tensorBytes) {
  constexpr int64_t kManyCaches = int64_t{256} << 20;
  constexpr int64_t kMost = 1024;  // a tensor costs the host memory as well
  return std::clamp<int64_t>(kManyCaches / (2 * std::max<int64_t>(tensorBytes, 1)), 1, kMost);
}

// Whether it does: smaller tensors are read from that cache, as right behind the op that made them.
constexpr bool comesFromMemory(int64_t tensorBytes) {
  constexpr int64_t kCache = int64_t{60} << 20;
  return 2 * tensorBytes * setsOnGpu(tensorBytes) > 2 * kCache;
}

// A set starts at a multiple of this, as torch's own tensors do: bytes.
inline constexpr int64_t kSetAlignment = 512;

}  // namespace normlens::bench
