#include "core/fold/weight_memory.h"

#include <sys/mman.h>

#include <cstdlib>
#include <new>

namespace normlens::fold {
namespace {

constexpr size_t kHugePage = size_t{2} << 20;
constexpr size_t kAlignment = 64;

size_t roundUp(size_t bytes, size_t to) { return (bytes + to - 1) / to * to; }

std::shared_ptr<std::byte> allocateBlock(size_t bytes) {
  const size_t alignment = bytes >= kHugePage ? kHugePage : kAlignment;
  auto* memory = static_cast<std::byte*>(std::aligned_alloc(alignment, roundUp(bytes, alignment)));
  if (memory == nullptr) throw std::bad_alloc();
#ifdef MADV_HUGEPAGE
  // Only whole huge pages: the rounded-up tail would otherwise be memory that nobody asked for. A refusal is harmless.
  if (bytes >= kHugePage) madvise(memory, bytes / kHugePage * kHugePage, MADV_HUGEPAGE);
#endif
  return {memory, [](std::byte* at) { std::free(at); }};  // NOLINT(cppcoreguidelines-no-malloc): aligned_alloc
}

}  // namespace

std::vector<std::shared_ptr<std::byte>> allocateWeights(std::span<const size_t> bytes) {
  size_t total = 0;
  for (const size_t size : bytes) total += roundUp(size, kAlignment);
  std::vector<std::shared_ptr<std::byte>> weights(bytes.size());
  if (total == 0) return weights;
  const auto block = allocateBlock(total);
  size_t offset = 0;
  for (size_t i = 0; i < bytes.size(); ++i) {
    if (bytes[i] > 0) weights[i] = {block, block.get() + offset};
    offset += roundUp(bytes[i], kAlignment);
  }
  return weights;
}

}  // namespace normlens::fold
