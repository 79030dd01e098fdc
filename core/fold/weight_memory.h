// Fresh memory for a changed weight.
#pragma once

#include <cstddef>
#include <memory>

namespace normlens::fold {

// Uninitialised, aligned to 64 bytes; large blocks ask the kernel for huge pages, since filling fresh memory is bound
// by page faults (4 KiB pages: twice the time of the copy itself). nullptr when there is no memory, or for 0 bytes.
[[nodiscard]] std::shared_ptr<std::byte> allocateWeight(size_t bytes);

}  // namespace normlens::fold
