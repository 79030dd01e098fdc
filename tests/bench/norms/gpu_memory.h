// How large a tensor a GPU is measured with.
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

}  // namespace normlens::bench
