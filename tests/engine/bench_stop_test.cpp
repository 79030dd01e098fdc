// Ctrl-C in the middle of a measurement, as a real signal to the real program: what was measured is told.
#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <nlohmann/json.hpp>
#include <thread>

#include "tests/engine/run_program.h"

namespace normlens::engine {
namespace {

using nlohmann::json;
using std::chrono::milliseconds;

constexpr const char* kModel = NORMLENS_DEMO_MODELS "/gpt2.pt";
constexpr const char* kEndless = "1000000000";  // rounds
constexpr int kLastSize = 120;

TEST(BenchStop, TextTellsThePointsThatWereMeasured) {
  // Far more points than are measured until the signal has come.
  std::string sweep = "seq=4";
  for (int size = 5; size <= kLastSize; ++size) sweep += "," + std::to_string(size);
  test::LiveProgram program(ENGINE_PROGRAM, {"bench", kModel, "--fold", "--threads", "1", "--warmup", "1", "--rounds",
                                             "40", "--iterations", "1", "--sweep", sweep});
  program.closeInput();
  while (program.out.find("speed-up") == std::string::npos && program.readSome()) {
  }
  program.kill(SIGINT);
  EXPECT_EQ(program.wait(), 1) << program.err;
  EXPECT_NE(program.out.find("seq=4 a: median"), std::string::npos) << program.out;
  EXPECT_EQ(program.out.find("seq=" + std::to_string(kLastSize) + " "), std::string::npos) << program.out;
  EXPECT_NE(program.out.find("norms of a by their shapes"), std::string::npos) << program.out;
  EXPECT_NE(program.err.find("stopped: what is told was measured, the rest was not"), std::string::npos) << program.err;
}

// With --json nothing is written before the end, so when the first round is done is found by trying.
TEST(BenchStop, JsonHoldsTheRoundsThatWereMeasured) {
  for (milliseconds patience(250); patience < milliseconds(60'000); patience *= 2) {
    test::LiveProgram program(ENGINE_PROGRAM, {"bench", kModel, "--fold", "--threads", "1", "--rounds", kEndless,
                                               "--iterations", "2", "--json", "--quiet"});
    program.closeInput();
    std::this_thread::sleep_for(patience);
    program.kill(SIGINT);
    const int status = program.wait();
    if (status != 1 && program.out.empty()) continue;  // it was not listening yet
    const json report = json::parse(program.out, nullptr, false);
    ASSERT_TRUE(report.is_object()) << program.out << program.err;
    if (report.contains("error")) continue;  // stopped before anything was measured
    EXPECT_EQ(status, 1);
    EXPECT_EQ(report["complete"], false);
    EXPECT_FALSE(report["rounds"].empty());
    EXPECT_GE(report["a"]["n"].get<size_t>(), 4 * report["rounds"].size());
    EXPECT_GT(report["a"]["median_ms"].get<double>(), 0);
    EXPECT_GT(report["speedup"]["median"].get<double>(), 0);
    return;
  }
  FAIL() << "nothing was measured in a minute";
}

}  // namespace
}  // namespace normlens::engine
