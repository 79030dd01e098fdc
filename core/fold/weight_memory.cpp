#include "core/fold/weight_memory.h"

#include <sys/mman.h>

#include <cstdlib>

namespace normlens::fold {
namespace {

constexpr size_t kHugePage = size_t{2} << 20;
constexpr size_t kAlignment = 64;

size_t roundUp(size_t bytes, size_t to) { return (bytes + to - 1) / to * to; }

}  // namespace

std::shared_ptr<std::byte> allocateWeight(size_t bytes) {
  if (bytes == 0) return nullptr;
  const size_t alignment = bytes >= kHugePage ? kHugePage : kAlignment;
  auto* memory = static_cast<std::byte*>(std::aligned_alloc(alignment, roundUp(bytes, alignment)));
  if (memory == nullptr) return nullptr;
#ifdef MADV_HUGEPAGE
  // Only whole huge pages: the rounded-up tail would otherwise be memory that nobody asked for. A refusal is harmless.
  if (bytes >= kHugePage) madvise(memory, bytes / kHugePage * kHugePage, MADV_HUGEPAGE);
#endif
  return {memory, [](std::byte* at) { std::free(at); }};
}

}  // namespace normlens::fold
