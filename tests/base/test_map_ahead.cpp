#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdlib>
#include <vector>

#include "core/base/map_ahead.h"

namespace normlens {
namespace {

constexpr size_t kBytes = size_t{8} << 20;

// A file of kBytes, read-only in memory, none of its pages mapped.
class MappedBytes {
 public:
  MappedBytes() {
    char name[] = "/tmp/normlens_map_ahead_XXXXXX";
    const int file = mkstemp(name);
    unlink(name);
    const std::vector<char> bytes(kBytes, 7);
    if (write(file, bytes.data(), kBytes) == static_cast<ssize_t>(kBytes)) {
      data_ = static_cast<std::byte*>(mmap(nullptr, kBytes, PROT_READ, MAP_SHARED, file, 0));
    }
    close(file);
  }
  ~MappedBytes() { munmap(data_, kBytes); }
  MappedBytes(const MappedBytes&) = delete;
  MappedBytes& operator=(const MappedBytes&) = delete;

  [[nodiscard]] std::span<const std::byte> bytes() const { return {data_, kBytes}; }

 private:
  std::byte* data_ = nullptr;
};

long faultsOfReading(std::span<const std::byte> bytes) {
  rusage before{}, after{};
  getrusage(RUSAGE_SELF, &before);
  int sum = 0;
  for (size_t at = 0; at < bytes.size(); at += 4096) sum += static_cast<int>(bytes[at]);
  getrusage(RUSAGE_SELF, &after);
  EXPECT_EQ(sum, static_cast<int>(7 * bytes.size() / 4096));
  return after.ru_minflt - before.ru_minflt;
}

// A sanitizer's shadow of the memory has faults of its own.
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
constexpr bool kFaultsAreOurs = false;
#else
constexpr bool kFaultsAreOurs = true;
#endif

TEST(MapAhead, ReadingThenMeetsNoFaults) {
  const MappedBytes touched;
  const long without = faultsOfReading(touched.bytes());
  const MappedBytes mapped;
  mapAhead(mapped.bytes());
  const long with = faultsOfReading(mapped.bytes());
  if (with >= without || !kFaultsAreOurs) GTEST_SKIP() << "this kernel does not map ahead, or not only we have faults";
  EXPECT_LE(with, 2);
}

TEST(MapAhead, TakesWhatIsNotAlignedEmptyOrNotReadable) {
  const MappedBytes mapped;
  mapAhead(mapped.bytes().subspan(5, 70'001));
  mapAhead({});
  auto* forbidden = static_cast<std::byte*>(mmap(nullptr, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  mapAhead({forbidden, 4096});
  munmap(forbidden, 4096);
  EXPECT_EQ(mapped.bytes()[70'000], std::byte{7});
}

}  // namespace
}  // namespace normlens
