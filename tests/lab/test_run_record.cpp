#include "core/lab/run_record.h"

#include <gtest/gtest.h>

#include <limits>

namespace normlens::lab {
namespace {

RunRecord someRecord(const std::string& network, int epoch) {
  RunRecord record;
  record.event = "epoch";
  record.run = "12";
  record.member = {network, 6, 0, 1, "float64"};
  record.epoch = epoch;
  record.epochs = 40;
  record.train_loss = 0.25;
  record.test_loss = std::numeric_limits<double>::infinity();
  record.gradient_norms = {0.1, 1.0 / 3};
  record.inputs = {{1, 2, 3, 4, 5, 6}};
  record.weight_difference = 1.9e-15;
  return record;
}

TEST(RunRecord, IsOneLineAndTheSameAfterIt) {
  const RunRecord record = someRecord("rms_norm", 27);
  const std::string line = writeRunRecord(record);
  EXPECT_EQ(line.find('\n'), std::string::npos);
  const auto again = readRunRecord(line);
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(*again, record);
}

TEST(RunRecord, WhatIsNoneIsTold) {
  EXPECT_EQ(readRunRecord("tea").error().message, "a record of a run is not JSON");
  EXPECT_EQ(readRunRecord(R"({"inputs": [{"mean": "x"}]})").error().message,
            "a record of a run: inputs[0].mean must be a number");
}

TEST(RunResult, IsTheSameAfterItsFile) {
  RunResult result;
  result.run = "12";
  result.settings.width = 3;
  result.end = "stopped";
  result.records = {someRecord("layer_norm", 1), someRecord("rms_norm", 1)};
  result.findings = {{"it is so", false, 2.0, 1.0, "2 is above 1"}};
  result.costs = {{{"rms_norm", 2, 0, 1, "float32"}, 1, 0.5, 2, 1.5, 1.25, 1.75, false, 4096}};
  const auto again = readRunResult(writeRunResult(result));
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(*again, result);
}

TEST(RunRecord, TheLastOfEachMemberIsFound) {
  std::vector<RunRecord> records{someRecord("a", 1), someRecord("b", 1), someRecord("a", 2)};
  records.push_back(someRecord("b", 2));
  records.back().event = "diverged";
  const auto last = lastOfEach(records);
  ASSERT_EQ(last.size(), 2U);
  EXPECT_EQ(last[0], records[2]);
  EXPECT_EQ(last[1], records[1]);
}

TEST(RunRecord, MembersHaveNamesOfTheirOwn) {
  RunSettings settings;
  EXPECT_EQ(memberName({"layer_norm", 6, 0, 1, "float32"}, settings), "layer_norm_6x256_seed1_float32");
  settings.optimizers.resize(2);
  EXPECT_EQ(memberName({"layer_norm", 6, 1, 1, "float32"}, settings), "layer_norm_6x256_optimizer2_seed1_float32");
}

}  // namespace
}  // namespace normlens::lab
