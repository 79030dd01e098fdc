#include "core/base/map_ahead.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <utility>

namespace normlens {

void mapAhead(std::span<const std::byte> bytes) {
#ifdef MADV_POPULATE_READ
  if (bytes.empty()) return;
  static const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  const auto address = reinterpret_cast<uintptr_t>(bytes.data());
  const uintptr_t begin = address / page * page;
  // NOLINTNEXTLINE(performance-no-int-to-ptr): the start of the page.
  static_cast<void>(madvise(reinterpret_cast<void*>(begin), address + bytes.size() - begin, MADV_POPULATE_READ));
#else
  static_cast<void>(bytes);
#endif
}

namespace {
constexpr size_t kStrokesAhead = 4;  // what was mapped long before it is read may have been taken away again
}  // namespace

AheadMapper::AheadMapper(std::vector<std::span<const std::byte>> strokes)
    : strokes_(std::move(strokes)), limit_(kStrokesAhead), worker_([this] { run(); }) {}

AheadMapper::~AheadMapper() {
  limit_ = 0;
  limit_.notify_one();
  worker_.join();
}

void AheadMapper::run() {
  for (size_t i = 0; i < strokes_.size(); ++i) {
    for (size_t limit = limit_; i >= limit; limit = limit_) {
      if (limit == 0) return;
      limit_.wait(limit);
    }
    mapAhead(strokes_[i]);
    mapped_ = i + 1;
    mapped_.notify_one();
  }
}

void AheadMapper::awaitNext() {
  const size_t wanted = awaited_++;
  limit_ = wanted + kStrokesAhead;
  limit_.notify_one();
  for (size_t mapped = mapped_; mapped <= wanted; mapped = mapped_) mapped_.wait(mapped);
}

}  // namespace normlens
