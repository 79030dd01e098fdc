#include "core/run/memory_ceiling.h"

#include <algorithm>
#include <fstream>
#include <string>

namespace normlens::run {
namespace {

constexpr int64_t kKibibyte = 1024;

// Of a line "name:   1234 kB".
std::optional<int64_t> kibibytes(const char* file, const std::string& name) {
  std::ifstream stream(file);
  for (std::string word; stream >> word;) {
    if (word != name) continue;
    int64_t count = 0;
    if (stream >> count) return count * kKibibyte;
  }
  return std::nullopt;
}

std::optional<int64_t> number(const char* file) {
  std::ifstream stream(file);
  int64_t value = 0;
  return stream >> value ? std::optional(value) : std::nullopt;
}

}  // namespace

std::optional<int64_t> availableMemory() {
  auto available = kibibytes("/proc/meminfo", "MemAvailable:");
  const auto limit = number("/sys/fs/cgroup/memory.max");
  const auto used = number("/sys/fs/cgroup/memory.current");
  if (available && limit && used) available = std::min(*available, std::max<int64_t>(0, *limit - *used));
  return available;
}

MemoryCeiling::MemoryCeiling() {
  const auto available = availableMemory();
  const auto data = kibibytes("/proc/self/status", "VmData:");
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
