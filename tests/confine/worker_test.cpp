// How workers end, and what is reported of it; machines that lack Landlock, or seccomp too, played by a filter that
// answers as their kernels do.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <string>
#include <vector>

#include "core/confine/worker.h"
#include "tests/confine/worker_fixture.h"

namespace normlens::confine {
namespace {

using namespace std::chrono_literals;
using Kind = RunWatch::Kind;

class WorkerEnd : public WorkerTest {};

TEST_F(WorkerEnd, IsWhatItReturned) {
  const Outcome outcome = run([](Confinement) { return 3; });
  EXPECT_TRUE(outcome.end.byItself);
  EXPECT_EQ(outcome.end.status, 3);
}

// A library that calls exit has given no result, whatever its status says.
TEST_F(WorkerEnd, IsNoResultWhereALibraryExits) {
  for (const int status : {0, 7}) {
    const Outcome outcome = run([&](Confinement) -> int {
      const RunWatch watch(Kind::Run);
      RunWatch::at("cuInit", "a driver");
      ::_exit(status);
    });
    EXPECT_FALSE(outcome.end.byItself);
    EXPECT_EQ(outcome.end.error.code, ErrorCode::RunFailed);
    EXPECT_EQ(outcome.end.error.message,
              "a library or the model ended the process while it was run (at cuInit in a driver)");
  }
}

TEST_F(WorkerEnd, NamesTheOpOfACrash) {
  for (const int signal : {SIGSEGV, SIGFPE, SIGABRT, SIGILL, SIGBUS}) {
    const Outcome outcome = run([&](Confinement) {
      const RunWatch watch(Kind::Run);
      RunWatch::at("aten::floordiv", "layer.0");
      std::signal(signal, SIG_DFL);
      ::raise(signal);
      return 0;
    });
    EXPECT_FALSE(outcome.end.byItself);
    EXPECT_EQ(outcome.end.during, Kind::Run);
    EXPECT_EQ(outcome.end.error.message.find("it crashed while it was run (at aten::floordiv in layer.0): "), 0U)
        << outcome.end.error.message;
  }
}

TEST_F(WorkerEnd, ComesSoonAfterTheDeadline) {
  Worker::Start start;
  start.limits.trial = 300ms;
  const Outcome outcome = run(
      [](Confinement) {
        const RunWatch watch(Kind::Trial);
        for (;;) ::pause();
        return 0;
      },
      std::move(start));
  EXPECT_EQ(outcome.end.during, Kind::Trial);
  EXPECT_NE(outcome.end.error.message.find("took more than 1 s"), std::string::npos) << outcome.end.error.message;
  EXPECT_LT(outcome.took, 5s);
}

TEST_F(WorkerEnd, IsNotADeadlineWhereNothingRuns) {
  Worker::Start start;
  start.limits.run = 100ms;
  const Outcome outcome = run(
      [](Confinement) {
        { const RunWatch watch(Kind::Run); }
        ::usleep(1'500'000);
        return 5;
      },
      std::move(start));
  EXPECT_EQ(outcome.end.status, 5);
}

TEST_F(WorkerEnd, AWatchWithinAnotherIsThatOne) {
  Worker::Start start;
  start.limits.trial = 200ms;
  start.limits.run = 1h;
  const Outcome outcome = run(
      [](Confinement) {
        const RunWatch outer(Kind::Trial);
        const RunWatch inner(Kind::Run);
        ::usleep(250'000);
        return inner.expired() && outer.expired() ? 0 : 1;
      },
      std::move(start));
  EXPECT_EQ(outcome.end.status, 0);
}

int ignoringItsEnd(Confinement) {
  std::signal(SIGTERM, SIG_IGN);
  for (;;) ::pause();
}

TEST_F(WorkerEnd, ComesWhenItIsStopped) {
  const Outcome outcome = run(ignoringItsEnd, {}, 200ms);
  EXPECT_EQ(outcome.end.error.code, ErrorCode::Cancelled);
  EXPECT_LT(outcome.took, 2s);
}

// Ended between its last words and its exit: it was told already, and not twice.
TEST_F(WorkerEnd, IsWhatItSaidWhenItIsStoppedOnItsWayOut) {
  const Outcome outcome = run(
      [](Confinement) {
        std::signal(SIGTERM, SIG_IGN);
        watchPage().status = 5;
        for (;;) ::pause();
        return 0;
      },
      {}, 200ms);
  EXPECT_TRUE(outcome.end.byItself);
  EXPECT_EQ(outcome.end.status, 5);
}

// The kernel then reaps the process, and keeps no status of it.
TEST_F(WorkerEnd, IsSeenWhereSigchldIsIgnored) {
  const auto before = std::signal(SIGCHLD, SIG_IGN);
  EXPECT_EQ(run([](Confinement) { return 3; }).end.status, 3);
  const Outcome exited = run([](Confinement) -> int { ::_exit(0); });
  const Outcome stopped = run(ignoringItsEnd, {}, 200ms);
  std::signal(SIGCHLD, before);
  EXPECT_EQ(exited.end.error.message, "a library or the model ended the process");
  EXPECT_EQ(stopped.end.error.code, ErrorCode::Cancelled);
}

TEST_F(WorkerEnd, TellsWhatItPrintedLast) {
  const Outcome outcome = run([](Confinement) {
    std::printf("to stdout\n");
    std::fflush(stdout);
    std::fprintf(stderr, "to stderr");
    return 0;
  });
  EXPECT_EQ(outcome.printed, (std::vector<std::string>{"to stdout", "to stderr"}));
}

std::vector<std::string> told(const std::vector<std::string>& pieces) {
  std::vector<std::string> lines;
  Noise noise([&](std::string_view line) { lines.emplace_back(line); });
  for (const std::string& piece : pieces) noise.feed(piece);
  noise.end();
  return lines;
}

TEST(Noise, IsLinesWithoutControlCharacters) {
  EXPECT_EQ(told({"a\x1b[2Jb\r\n\n", "c", "d\x07"}), (std::vector<std::string>{"a?[2Jb?", "cd?"}));
  EXPECT_EQ(told({"\xC2",
                  "\x9B"
                  "31m \xC3\xA4"}),
            (std::vector<std::string>{"??31m \xC3\xA4"}));
  EXPECT_EQ(told({"safe\xE2\x80", "\xAE exe"}), (std::vector<std::string>{"safe??? exe"}));
}

TEST(Noise, EndsWhereNobodyReadsOn) {
  const auto lines = told({std::string(3000, 'x') + "\n", std::string(1 << 18, '\n'), "last\n"});
  EXPECT_EQ(lines.front().size(), Noise::kLongestLine);
  EXPECT_EQ(lines.back(), "what is printed beyond this is dropped");
}

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
  // The worker says three things, a bit each: its level is this one; it can write, send, read.
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
