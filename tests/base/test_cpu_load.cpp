#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <thread>

#include "core/base/cpu_load.h"

namespace normlens {
namespace {

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

}  // namespace
}  // namespace normlens
