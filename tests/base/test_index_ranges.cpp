#include <gtest/gtest.h>

#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <random>
#include <set>
#include <thread>
#include <vector>

#include "core/base/cpu_load.h"
#include "core/base/index_ranges.h"
#include "core/base/map_ahead.h"
#include "core/base/table_text.h"

namespace normlens {
namespace {

std::vector<int> listOf(const std::set<int>& set) { return {set.begin(), set.end()}; }

TEST(IndexRanges, NeighboursGrowTogether) {
  IndexRanges set{3, 1};
  EXPECT_EQ(set.ranges().size(), 2U);
  EXPECT_TRUE(set.add(2));
  ASSERT_EQ(set.ranges().size(), 1U);
  EXPECT_EQ(set.ranges()[0], (IndexRange{1, 3}));
  EXPECT_FALSE(set.add(2));
  EXPECT_EQ(set.size(), 3);
}

TEST(IndexRanges, RemoveSplitsARange) {
  IndexRanges set;
  ASSERT_TRUE(set.append({0, 4}));
  set.remove(2);
  set.remove(7);
  EXPECT_EQ(set.indices(), (std::vector{0, 1, 3, 4}));
  set.remove(0);
  set.remove(4);
  EXPECT_EQ(set.indices(), (std::vector{1, 3}));
}

TEST(IndexRanges, AppendRefusesWhatIsNotBehind) {
  IndexRanges set;
  EXPECT_FALSE(set.append({-1, 0}));
  EXPECT_FALSE(set.append({5, 4}));
  EXPECT_TRUE(set.append({2, 5}));
  EXPECT_FALSE(set.append({6, 8})) << "touches the range before it";
  EXPECT_FALSE(set.append({0, 0}));
  EXPECT_TRUE(set.append({7, 7}));
  EXPECT_EQ(set.indices(), (std::vector{2, 3, 4, 5, 7}));
  EXPECT_EQ(set.indices(3), (std::vector{2, 3, 4}));
}

TEST(IndexRanges, AgreesWithASetOfNumbers) {
  std::mt19937 random(7);
  std::uniform_int_distribution<int> number(0, 30);
  for (int round = 0; round < 300; ++round) {
    IndexRanges ranges, more;
    std::set<int> set, moreSet;
    for (int i = 0; i < 12; ++i) {
      const int a = number(random), b = number(random), c = number(random);
      EXPECT_EQ(ranges.add(a), set.insert(a).second);
      more.add(b);
      moreSet.insert(b);
      ranges.remove(c);
      set.erase(c);
    }
    const size_t before = set.size();
    set.insert(moreSet.begin(), moreSet.end());
    EXPECT_EQ(ranges.merge(more), set.size() != before);
    EXPECT_EQ(ranges.indices(), listOf(set));
    EXPECT_EQ(ranges.size(), static_cast<int64_t>(set.size()));
    for (int i = -1; i < 32; ++i) EXPECT_EQ(ranges.contains(i), set.contains(i));
  }
}

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

TEST(CpuLoad, idleAndWaitingTimeIsNobodys) {
  EXPECT_DOUBLE_EQ(busySeconds("cpu  100 20 30 9999 888 4 5 6 0 0\ncpu0 1 2 3\n", 100), 1.65);
  EXPECT_EQ(busySeconds("intr 1 2 3 4 5 6 7 8 9", 100), 0);
  EXPECT_EQ(busySeconds("cpu 1 2", 100), 0);
  EXPECT_EQ(busySeconds("", 100), 0);
}

TEST(CpuLoad, ofOthersIsWhatThisProcessDidNotUse) {
  EXPECT_DOUBLE_EQ(otherCores({10, 3}, {16, 6}, 2), 1.5);
  EXPECT_EQ(otherCores({10, 3}, {12, 5.01}, 2), 0) << "ticks are counted later than used";
  EXPECT_EQ(otherCores({10, 3}, {16, 6}, 0), 0);
}

TEST(CpuLoad, coresAreCrowdedWhereThreadsAndOthersHaveTooFew) {
  EXPECT_FALSE(isCrowded(0.2, 2, 2));
  EXPECT_TRUE(isCrowded(0.9, 2, 2));
  EXPECT_FALSE(isCrowded(0.9, 1, 2));
  EXPECT_FALSE(isCrowded(5, 8, 16));
}

TEST(CpuLoad, anotherProcessIsSeen) {
  const pid_t other = fork();
  ASSERT_GE(other, 0);
  if (other == 0) {
    for (std::atomic<unsigned> turns = 0;; ++turns) {
    }
  }
  const OtherLoad load;
  std::this_thread::sleep_for(std::chrono::milliseconds(800));
  const double cores = load.cores();
  kill(other, SIGKILL);
  waitpid(other, nullptr, 0);
  EXPECT_GT(cores, 0.2);
}

TEST(TableText, CsvQuotesWhatItHasTo) {
  EXPECT_EQ(csvLine({"a", "b,c", "he said \"no\"", ""}), "a,\"b,c\",\"he said \"\"no\"\"\",\r\n");
  EXPECT_EQ(csvLine({"", "x"}), ",x\r\n");
  EXPECT_EQ(csvField("two\nlines"), "\"two\nlines\"");
}

TEST(TableText, NothingEndsAMarkdownCell) { EXPECT_EQ(markdownField("a|b\\c\nd"), "a\\|b\\\\c d"); }

}  // namespace
}  // namespace normlens
