#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <iterator>
#include <thread>

#include "core/base/parallel.h"
#include "core/lab/keep/checkpoint.h"
#include "core/lab/run_files.h"
#include "core/run/tensors.h"
#include "tests/lab/small_run.h"
#include "tests/support/must.h"
#include "tests/support/npz_files.h"
#include "tests/support/temporary_folder.h"

namespace normlens::lab {
namespace {

class Runs : public testing::Test {
 protected:
  [[nodiscard]] RunPlace place() const { return {"7", folder_.path(), false}; }

  // Stops after so many records, in the middle of an epoch where there are others to come.
  RunResult stoppedAfter(const RunSettings& settings, int records) {
    std::stop_source stop;
    RunControl control;
    control.onRecord = [&](const RunRecord& record) {
      if (record.event == RunEvent::Epoch && --records == 0) stop.request_stop();
    };
    control.stop = stop.get_token();
    return trained(settings, place(), control);
  }

  // As the run at place() tells them.
  static std::vector<RunRecord> here(const RunResult& result) {
    std::vector<RunRecord> records = reproducible(result.records);
    for (RunRecord& record : records) record.run = "7";
    return records;
  }

  TemporaryFolder folder_;
};

RunSettings twoGroups() {
  RunSettings settings = smallRun();
  settings.seeds = {1, 2};
  settings.precisions = {Precision::Float32, Precision::Float64};
  settings.optimizers = {{.kind = OptimizerKind::Sgd, .learning_rate = 0.05, .momentum = 0.9}};
  return settings;
}

TEST_F(Runs, TheSameSettingsGiveTheSameNumbers) {
  EXPECT_EQ(reproducible(trained(twoGroups()).records), reproducible(trained(twoGroups()).records));
}

// Wherever it is stopped, with every kind of optimizer.
TEST_F(Runs, AStoppedRunGoesOnToTheSameNumbers) {
  for (const OptimizerKind kind : {OptimizerKind::Sgd, OptimizerKind::Adam}) {
    RunSettings settings = twoGroups();
    settings.optimizers[0].kind = kind;
    if (kind == OptimizerKind::Adam) settings.optimizers = {{}};
    const RunResult whole = trained(settings);
    for (const int records : {3, 20, 31, 47}) {
      std::filesystem::remove_all(checkpointFile(folder_.path()));
      const RunResult stopped = stoppedAfter(settings, records);
      EXPECT_EQ(stopped.end, RunEnd::Stopped);
      for (const Finding& finding : stopped.findings) EXPECT_FALSE(finding.holds.has_value()) << finding.text;
      EXPECT_LT(stopped.records.size(), whole.records.size());
      const RunResult resumed = trained(settings, place());
      EXPECT_EQ(resumed.end, RunEnd::Done);
      EXPECT_EQ(here(resumed), here(whole)) << nameOf(kind) << " after " << records;
    }
  }
}

// A kill leaves the checkpoint of some epoch: that of a stop stands for it, without what a stop writes besides.
TEST_F(Runs, AKilledRunGoesOnToTheSameNumbers) {
  const RunSettings settings = smallRun();
  const RunResult whole = trained(settings);
  std::string checkpoint;
  {
    RunControl control;
    PauseSwitch pause;
    std::stop_source stop;
    control.pause = &pause;
    control.stop = stop.get_token();
    int records = 0;
    control.onRecord = [&](const RunRecord& record) {
      if (record.event == RunEvent::Epoch && ++records == 8) pause.pause();
      if (record.event != RunEvent::Paused) return;
      std::ifstream file(checkpointFile(folder_.path()), std::ios::binary);
      checkpoint.assign(std::istreambuf_iterator<char>(file), {});
      stop.request_stop();
    };
    (void)trained(settings, place(), control);
  }
  ASSERT_FALSE(checkpoint.empty());
  std::filesystem::remove_all(folder_.path());
  std::filesystem::create_directory(folder_.path());
  std::ofstream(checkpointFile(folder_.path()), std::ios::binary) << checkpoint;
  EXPECT_EQ(here(trained(settings, place())), here(whole));
}

TEST_F(Runs, StoppedWhatWasTrainedIsKept) {
  const RunSettings settings = smallRun();
  const RunResult stopped = stoppedAfter(settings, 7);
  ASSERT_EQ(stopped.weights.size(), 3U);
  for (const std::string& name : stopped.weights) EXPECT_TRUE(std::filesystem::exists(folder_ / name)) << name;
  EXPECT_TRUE(std::filesystem::exists(resultFile(folder_.path())));
  const auto kept = must(readCheckpoint(checkpointFile(folder_.path())));
  EXPECT_EQ(kept.records, stopped.records);
}

TEST_F(Runs, ADoneRunIsNotTrainedAgain) {
  const RunSettings settings = smallRun();
  const RunResult first = trained(settings, place());
  const RunResult again = trained(settings, place());
  EXPECT_EQ(again.records, first.records);  // times too
  EXPECT_EQ(again.weights, first.weights);
  EXPECT_EQ(first.weights.size(), 3U);
}

TEST_F(Runs, NetworksThatAreGoneAreNotTold) {
  const RunSettings settings = smallRun();
  const RunResult first = trained(settings, place());
  ASSERT_TRUE(std::filesystem::remove(folder_ / first.weights.front()));
  const RunResult again = trained(settings, place());
  EXPECT_EQ(again.weights, std::vector<std::string>(first.weights.begin() + 1, first.weights.end()));
}

TEST_F(Runs, APausedRunStandsStill) {
  PauseSwitch pause;
  RunControl control;
  control.pause = &pause;
  std::vector<RunEvent> events;
  std::jthread other;
  control.onRecord = [&](const RunRecord& record) {
    events.push_back(record.event);
    if (record.event == RunEvent::Epoch && record.epoch == 1 && events.size() == 5) pause.pause();
    if (record.event == RunEvent::Paused) other = std::jthread([&] { pause.goOn(); });
  };
  const RunSettings settings = smallRun();
  const RunResult paused = trained(settings, place(), control);
  const auto expected = trained(settings);
  EXPECT_EQ(reproducible(paused.records).back().train_loss, expected.records.back().train_loss);
  EXPECT_EQ(std::ranges::count(events, RunEvent::Paused), 1);
  EXPECT_EQ(std::ranges::count(events, RunEvent::Continued), 1);
  EXPECT_EQ(events.front(), RunEvent::Started);
  EXPECT_EQ(events.back(), RunEvent::Done);
}

TEST_F(Runs, ACheckpointOfOtherSettingsIsRefused) {
  (void)stoppedAfter(smallRun(), 4);
  RunSettings other = smallRun();
  other.width = 8;
  const Error refused = failureOf(tryRun(other, place()));
  EXPECT_EQ(refused.code, ErrorCode::Unreadable);
  EXPECT_EQ(refused.message,
            "the checkpoint " + checkpointFile(folder_.path()).string() + " is of a run with other settings");
  RunPlace anew = place();
  anew.startAnew = true;
  EXPECT_EQ(trained(other, anew).end, RunEnd::Done);
}

TEST_F(Runs, MoreThreadsThanTheMachineRunsAreRefused) {
  RunSettings settings = smallRun();
  settings.threads = hardwareThreads() + 1;
  const Error refused = failureOf(tryRun(settings));
  EXPECT_EQ(refused.code, ErrorCode::BadInput);
  EXPECT_EQ(refused.message.find("the run asks for " + std::to_string(settings.threads) + " threads"), 0U)
      << refused.message;
}

// No machine has so many: refused for want of a GPU, or of that one.
TEST_F(Runs, AGpuThatIsNotThereIsRefusedBeforeTheFirstStep) {
  RunSettings settings = smallRun();
  settings.device = "cuda:120";
  RunControl control;
  bool told = false;
  control.onRecord = [&](const RunRecord&) { told = true; };
  const Error refused = failureOf(tryRun(settings, place(), control));
  EXPECT_EQ(refused.code, ErrorCode::Unsupported) << refused.message;
  EXPECT_EQ(refused.hint.text(), "set device to \"cpu\"");
  EXPECT_FALSE(told);
}

// Its tensors are those of the CPU.
TEST_F(Runs, ARunThatWasBegunOnAnotherDeviceGoesOn) {
  const RunSettings settings = smallRun();
  const RunResult whole = trained(settings);
  (void)stoppedAfter(settings, 7);
  auto kept = must(readCheckpoint(checkpointFile(folder_.path())));
  kept.settings.device = "cuda";
  ASSERT_TRUE(writeCheckpoint(checkpointFile(folder_.path()), kept));
  const RunResult result = trained(settings, place());
  EXPECT_EQ(result.settings, settings);
  EXPECT_EQ(here(result), here(whole));
}

TEST_F(Runs, ACheckpointThatIsNoneIsRefusedUnlessTheRunBeginsAnew) {
  std::ofstream(checkpointFile(folder_.path())) << "what is no checkpoint, and long enough to be one";
  const Error refused = failureOf(tryRun(smallRun(), place()));
  EXPECT_EQ(refused.hint.text(), "begin the run anew with --anew");
  RunPlace anew = place();
  anew.startAnew = true;
  EXPECT_EQ(trained(smallRun(), anew).end, RunEnd::Done);
}

TEST_F(Runs, ACheckpointOfOtherDataIsRefused) {
  RunSettings settings = smallRun();
  settings.data.kind = DataKind::Npz;
  settings.data.path = (folder_ / "data.npz").string();
  const auto write = [&](int shift) {
    std::vector<double> x, y;
    for (int i = 0; i < 100; ++i) {
      x.insert(x.end(), {static_cast<double>(i * i % 17 + shift * (i % 3)), static_cast<double>(i % 5)});
      y.push_back(i % 2);
    }
    ASSERT_TRUE(run::writeNpz(settings.data.path, {{"x", run::fromDoubles(graph::DType::Float64, {100, 2}, x)},
                                                   {"y", run::fromDoubles(graph::DType::Float64, {100}, y)}}));
  };
  write(0);
  (void)stoppedAfter(settings, 4);
  RunSettings otherwise = settings;
  otherwise.data.path = (folder_ / "." / "data.npz").string();
  EXPECT_EQ(trained(otherwise, place()).end, RunEnd::Done) << "the same data under another spelling of their path";
  write(1);
  const Error refused = failureOf(tryRun(settings, place()));
  EXPECT_EQ(refused.message,
            "the checkpoint " + checkpointFile(folder_.path()).string() + " is of a run on other data");
}

TEST_F(Runs, ADivergedNetworkIsStoppedAndItsLastGoodStateKept) {
  RunSettings settings = smallRun();
  settings.networks = {NormUse::LayerNorm, NormUse::Plain};
  settings.optimizers = {{.kind = OptimizerKind::Sgd, .learning_rate = 50}};
  settings.epochs = 20;
  std::vector<RunRecord> told;
  RunControl control;
  control.onRecord = [&](const RunRecord& record) {
    if (record.event == RunEvent::Diverged) told.push_back(record);
  };
  const RunResult result = trained(settings, place(), control);
  EXPECT_EQ(result.end, RunEnd::Done);
  ASSERT_FALSE(told.empty());
  const RunRecord& diverged = told.front();
  EXPECT_EQ(diverged.member.network, NormUse::Plain);
  EXPECT_NE(diverged.text.find(" was not finite after "), std::string::npos) << diverged.text;
  EXPECT_NE(diverged.text.find(": the weights of epoch " + std::to_string(diverged.epoch) + " are kept"),
            std::string::npos)
      << diverged.text;
  EXPECT_TRUE(std::isfinite(diverged.test_loss));
  for (const RunRecord& record : result.records) {
    if (record.member == diverged.member) {
      EXPECT_LE(record.epoch, diverged.epoch);
    }
  }
}

TEST_F(Runs, DataThatCannotBeUsedAreTold) {
  RunSettings settings = smallTransformer();
  settings.data.samples = 1000;
  settings.data.test_share = 0.01;
  EXPECT_EQ(failureOf(tryRun(settings)).message, "context is 16, and only 10 characters are there to test with");
}

}  // namespace
}  // namespace normlens::lab
