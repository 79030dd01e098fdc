#include "core/base/map_ahead.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>

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

}  // namespace normlens
