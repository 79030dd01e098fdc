// Fresh memory for changed weights.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

namespace normlens::fold {

// One block for several weights of so many bytes each, uninitialised, each aligned to 64 bytes; the block goes with the
// last of them. Large blocks ask the kernel for huge pages, since filling fresh memory is bound by page faults (4 KiB
// pages: twice the time of the copy itself), and weights of their own would each end in small pages. nullptr for 0
// bytes. Error: throws std::bad_alloc.
[[nodiscard]] std::vector<std::shared_ptr<std::byte>> allocateWeights(std::span<const size_t> bytes);

}  // namespace normlens::fold
