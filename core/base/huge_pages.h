// Large memory in large pages: a fault for each 2 MB instead of each 4 kB. Thread: any.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>

namespace normlens {

inline constexpr size_t kHugePage = size_t{2} << 20;  // bytes

// Asks for them where a whole one fits: a rounded-up tail would be memory that nobody wanted. A refusal is harmless.
inline void wantHugePages(std::byte* memory, size_t bytes) {
#ifdef MADV_HUGEPAGE
  const size_t skipped = (kHugePage - reinterpret_cast<uintptr_t>(memory) % kHugePage) % kHugePage;
  if (bytes < skipped + kHugePage) return;
  ::madvise(memory + skipped, (bytes - skipped) / kHugePage * kHugePage, MADV_HUGEPAGE);
#endif
}

}  // namespace normlens
