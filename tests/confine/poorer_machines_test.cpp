// Machines that lack Landlock, or seccomp too: played by a filter that answers as their kernels do.
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <vector>

#include "tests/confine/worker_fixture.h"

namespace normlens::confine {
namespace {

// In a process of its own: it holds for good.
void lose(const std::vector<int>& calls) {
  std::vector<sock_filter> code{{BPF_LD | BPF_W | BPF_ABS, 0, 0, offsetof(seccomp_data, nr)}};
  for (const int call : calls) {
    code.push_back({BPF_JMP | BPF_JEQ | BPF_K, 0, 1, static_cast<uint32_t>(call)});
    code.push_back({BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ERRNO | ENOSYS});
  }
  code.push_back({BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW});
  const sock_fprog program{static_cast<unsigned short>(code.size()), code.data()};
  ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  if (::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) ::_exit(77);
}

bool opens(const std::string& path, int flags) {
  const int fd = ::open(path.c_str(), flags | O_CLOEXEC, 0600);
  if (fd >= 0) ::close(fd);
  return fd >= 0;
}

class PoorerMachine : public WorkerTest {
 protected:
  // What the worker says, as a bit each: its level is this one; it can write, send, read.
  int triedAt(Confinement level) {
    return run([&](Confinement stands) {
             const bool writes = opens(path("made"), O_WRONLY | O_CREAT) || ::unlink(path("mine").c_str()) == 0;
             const bool sends = ::socket(AF_INET, SOCK_STREAM, 0) >= 0;
             return (stands == level ? 1 : 0) + (writes ? 2 : 0) + (sends ? 4 : 0) +
                    (opens(path("mine"), O_RDONLY) ? 8 : 0);
           })
        .end.status;
  }
};
using PoorerMachineDeathTest = PoorerMachine;

TEST_F(PoorerMachineDeathTest, WithoutLandlockNothingIsWrittenOrSent) {
  write("mine", "mine");
  EXPECT_EXIT(
      {
        lose({__NR_landlock_create_ruleset});
        const bool offered = offeredConfinement() == Confinement::Calls;
        ::_exit(offered && !whatIsMissing(Confinement::Calls, false).empty() ? triedAt(Confinement::Calls) : 100);
      },
      ::testing::ExitedWithCode(1 + 8), "");
  EXPECT_EQ(names(), std::vector<std::string>{"mine"});
}

// /dev/null stands for /dev/nvidiactl: without Landlock a filter of calls cannot tell one file from another.
TEST_F(PoorerMachineDeathTest, WithoutLandlockTheDriverOpensItsDevices) {
  write("mine", "mine");
  EXPECT_EXIT(
      {
        lose({__NR_landlock_create_ruleset});
        Worker::Start start;
        start.walls.gpu = true;
        const Outcome outcome = run(
            [&](Confinement level) {
              const bool makes = opens(path("made"), O_RDWR | O_CREAT), cuts = opens(path("mine"), O_RDWR | O_TRUNC);
              const bool removes = ::unlink(path("mine").c_str()) == 0, sends = ::socket(AF_INET, SOCK_STREAM, 0) >= 0;
              return (level == Confinement::Calls ? 1 : 0) + (opens("/dev/null", O_RDWR) ? 2 : 0) +
                     (makes || cuts || removes || sends ? 4 : 0);
            },
            std::move(start));
        ::_exit(whatIsMissing(Confinement::Calls, true) != whatIsMissing(Confinement::Calls, false) ? outcome.end.status
                                                                                                    : 100);
      },
      ::testing::ExitedWithCode(1 + 2), "");
  EXPECT_EQ(names(), std::vector<std::string>{"mine"});
  EXPECT_EQ(read("mine"), "mine");
}

TEST_F(PoorerMachineDeathTest, WithNothingTheLevelSaysSo) {
  write("mine", "mine");
  EXPECT_EXIT(
      {
        lose({__NR_landlock_create_ruleset, __NR_seccomp});
        const bool offered = offeredConfinement() == Confinement::None;
        ::_exit(offered && !whatIsMissing(Confinement::None, false).empty() ? triedAt(Confinement::None) & 1 : 100);
      },
      ::testing::ExitedWithCode(1), "");
}

TEST_F(PoorerMachineDeathTest, WhatIsMissingIsNamedAlone) {
  if (offeredConfinement() != Confinement::Full) GTEST_SKIP() << whatIsMissing(offeredConfinement(), false);
  const auto words = [](const std::vector<int>& lost) {
    lose(lost);
    const std::string_view text = whatIsMissing(offeredConfinement(), false);
    ::_exit((text.find("Landlock") < text.size() ? 1 : 0) + (text.find("seccomp") < text.size() ? 2 : 0));
  };
  EXPECT_EXIT(words({__NR_landlock_create_ruleset}), ::testing::ExitedWithCode(1), "");
  EXPECT_EXIT(words({__NR_seccomp}), ::testing::ExitedWithCode(2), "");
  EXPECT_EXIT(words({__NR_landlock_create_ruleset, __NR_seccomp}), ::testing::ExitedWithCode(3), "");
}

}  // namespace
}  // namespace normlens::confine
