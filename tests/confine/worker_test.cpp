// How workers end, and what is said of it.
#include <gtest/gtest.h>

#include <sys/mman.h>
#include <unistd.h>

#include <csignal>
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

TEST_F(WorkerEnd, ComesWhenItIsStopped) {
  const Outcome outcome = run(
      [](Confinement) {
        std::signal(SIGTERM, SIG_IGN);
        for (;;) ::pause();
        return 0;
      },
      {}, 200ms);
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

}  // namespace
}  // namespace normlens::confine
