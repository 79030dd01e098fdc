#include "core/run/measure/memory_ceiling.h"

#include <algorithm>

#include "core/base/machine.h"

namespace normlens::run {

MemoryCeiling::MemoryCeiling() {
  const auto available = availableMemory();
  const auto data = statusBytes("/proc/self/status", "VmData:");
  rlimit limit{};
  if (!available || !data || getrlimit(RLIMIT_DATA, &limit) != 0) return;
  const rlimit before = limit;
  const auto ceiling = static_cast<rlim_t>(*data + *available);
  if (before.rlim_cur != RLIM_INFINITY && before.rlim_cur <= ceiling) return;
  limit.rlim_cur = limit.rlim_max == RLIM_INFINITY ? ceiling : std::min(ceiling, limit.rlim_max);
  if (setrlimit(RLIMIT_DATA, &limit) == 0) before_ = before;
}

MemoryCeiling::~MemoryCeiling() {
  if (before_) setrlimit(RLIMIT_DATA, &*before_);
}

}  // namespace normlens::run
