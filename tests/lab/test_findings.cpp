#include "core/lab/findings/findings.h"

#include <gtest/gtest.h>

namespace normlens::lab {
namespace {

// Two epochs of each network, with what the test says of them.
class Numbers {
 public:
  explicit Numbers(Experiment experiment) { result_.settings.experiment = experiment; }
  RunSettings& settings() { return result_.settings; }

  RunRecord& add(NormUse network, int epoch, Precision precision = Precision::Float32) {
    RunRecord record;
    record.event = RunEvent::Epoch;
    record.member = {network, result_.settings.layers.front(), 0, 1, precision};
    record.epoch = epoch;
    record.train_loss = 1;
    result_.records.push_back(record);
    return result_.records.back();
  }
  [[nodiscard]] Finding about(const std::string& start) const {
    for (Finding& finding : findings_) {
      if (finding.claim.find(start) != std::string::npos) return finding;
    }
    ADD_FAILURE() << "no finding on " << start;
    return {};
  }
  void find() { findings_ = findingsOf(result_); }
  RunResult result_;

 private:
  mutable std::vector<Finding> findings_;
};

TEST(Findings, WeightsAreTheSameBelowTheLimit) {
  for (const double difference : {9e-6, 1.1e-5}) {
    Numbers numbers(Experiment::Equivalence);
    numbers.add(NormUse::LayerNorm, 1);
    numbers.add(NormUse::CbwcRmsNorm, 1).weight_difference = difference;
    numbers.add(NormUse::LayerNorm, 2);
    RunRecord& last = numbers.add(NormUse::CbwcRmsNorm, 2);
    last.weight_difference = 1e-7;
    last.train_loss = 1.25;
    numbers.add(NormUse::RmsNorm, 2).weight_difference = difference;
    numbers.find();
    const Finding same = numbers.about("to the weights of LayerNorm: Adam, float32");
    EXPECT_EQ(same.holds, difference < 1e-5);
    EXPECT_EQ(same.value, difference);
    EXPECT_NE(same.text.find("losses by 0.25"), std::string::npos) << same.text;
    EXPECT_EQ(numbers.about("RMSNorm alone").holds, difference > 1e-5);
  }
}

TEST(Findings, ADifferenceThatPrecisionDoesNotMendIsNoRounding) {
  for (const double inDouble : {1e-13, 1e-6}) {
    Numbers numbers(Experiment::Equivalence);
    numbers.settings().precisions = {Precision::Float32, Precision::Float64};
    numbers.add(NormUse::CbwcRmsNorm, 1).weight_difference = 1e-6;
    numbers.add(NormUse::CbwcRmsNorm, 1, Precision::Float64).weight_difference = inDouble;
    numbers.find();
    EXPECT_EQ(numbers.about("but for rounding").holds, inDouble < 1e-10);
  }
}

TEST(Findings, ARunWithoutNumbersDecidesNothing) {
  Numbers numbers(Experiment::Equivalence);
  numbers.find();
  EXPECT_FALSE(numbers.about("to the weights of LayerNorm").holds.has_value());
}

TEST(Findings, ADivergedNetworkIsTold) {
  Numbers numbers(Experiment::Equivalence);
  numbers.add(NormUse::CbwcRmsNorm, 1).weight_difference = 1e-7;
  numbers.add(NormUse::CbwcRmsNorm, 1).event = RunEvent::Diverged;
  numbers.find();
  EXPECT_NE(numbers.about("to the weights").text.find("a network diverged"), std::string::npos);
}

TEST(Findings, TheDepthOrderingIsThatOfTheNumbers) {
  for (const double swing : {0.5, 4.0}) {
    Numbers numbers(Experiment::DepthSweep);
    numbers.add(NormUse::LayerNorm, 1).inputs = {{1, 0, 1, 0, 10, 0}};
    RunRecord& other = numbers.add(NormUse::LayerNorm, 2);
    other.inputs = {{2, 0, 1, 0, 11, 0}};
    other.test_accuracy = 0.5;
    RunRecord& best = numbers.add(NormUse::RmsNorm, 1);
    best.inputs = {{1, 0, 1, 0, 10, 0}};
    best.test_accuracy = 0.75;
    RunRecord& last = numbers.add(NormUse::RmsNorm, 2);
    last.inputs = {{1.5, 0, 1, 0, 10 + swing, 0}};
    last.test_accuracy = 0.125;  // below the other network's
    numbers.find();
    EXPECT_EQ(numbers.about("the length of the last layer's input").holds, swing > 1);
    EXPECT_EQ(numbers.about("the mean of the last layer's input").holds, false);
    EXPECT_EQ(numbers.about("the length of the last layer's input").figure, FindingFigure::Lengths);
    const Finding better = numbers.about("LayerNorm reaches a better test accuracy than RMSNorm");
    EXPECT_EQ(better.holds, false);
    EXPECT_EQ(better.figure, FindingFigure::Accuracy);
    EXPECT_EQ(better.text.find("in each one's best epoch "), 0U) << better.text;
    EXPECT_TRUE(better.text.ends_with(" against 75.0%")) << better.text;
  }
}

TEST(Findings, ADifferenceInsideTheNoiseIsNone) {
  Numbers numbers(Experiment::Cost);
  numbers.result_.costs = {{{NormUse::RmsNorm, 6, 0, 1, Precision::Float32}, 1, 1, 1, 1.5, 0.9, 1.8, true, 0}};
  numbers.find();
  EXPECT_FALSE(numbers.about("RMSNorm alone takes less time").holds.has_value());
  numbers.result_.costs[0].noise = false;
  numbers.find();
  EXPECT_EQ(numbers.about("RMSNorm alone takes less time").holds, true);
  EXPECT_EQ(numbers.about("RMSNorm alone takes less time").figure, FindingFigure::StepTime);
}

// Papers 001 §5.3: the crossing s·b > p, between the batches around it.
TEST(Findings, CenteredWeightsPayFromWhereTheRatioStaysAboveOne) {
  const struct {
    std::vector<double> ratios;  // of 8, 128 and 2048 tokens
    bool holds;
    std::optional<double> from;
    const char* begin;
  } rows[] = {{{0.5, 2.0, 3.0}, true, 32, "it pays from 32 tokens on; 8 tokens: 0.5 (0.5 to 0.5) times as fast; 128"},
              {{1.5, 0.5, 2.0}, false, 512, "it pays from 512 tokens on; "},  // not from 8 on
              {{1.5, 2.0, 3.0}, true, {}, "it pays from 8 tokens on, the fewest measured; "},
              {{0.5, 2.0, 0.9}, false, {}, "it does not pay up to 2,048 tokens here; "}};
  for (const auto& row : rows) {
    Numbers numbers(Experiment::Cost);
    numbers.settings().width = 16;
    numbers.settings().batches = {8, 128, 2048};
    for (size_t i = 0; i < row.ratios.size(); ++i) {
      StepCost cost;
      cost.member = {NormUse::CbwcRmsNorm, 6, 0, 1, Precision::Float32};
      cost.ratio = cost.ratio_low = cost.ratio_high = row.ratios[i];
      cost.batch = numbers.settings().batches[i];
      numbers.result_.costs.push_back(cost);
    }
    numbers.find();
    const Finding found = numbers.about("s·b > p = 16 tokens");
    EXPECT_EQ(found.holds, row.holds) << found.text;
    EXPECT_EQ(found.text.find(row.begin), 0U) << found.text;
    ASSERT_EQ(found.value.has_value(), row.from.has_value()) << found.text;
    if (row.from) {
      EXPECT_NEAR(*found.value, *row.from, 1e-9);  // half way on logarithms
    }
    EXPECT_EQ(found.limit, 16);
    EXPECT_EQ(found.figure, FindingFigure::StepTime);
  }
}

// Papers 001 §5.3: the seeds are pairs, and what they differ by is the noise.
TEST(Findings, UnderDropoutTheNearerNetworkIsFoundWhereSeedsAgree) {
  const struct {
    std::vector<double> near, far;
    std::optional<bool> holds;
  } rows[] = {{{0.1, 0.5, 0.9}, {0.2, 0.6, 1.1}, true},
              {{0.2, 0.6, 1.1}, {0.1, 0.5, 0.9}, false},
              {{0.1, 0.5, 0.9}, {0.9, 0.1, 0.6}, std::nullopt}};
  for (const auto& row : rows) {
    Numbers numbers(Experiment::Dropout);
    numbers.settings().optimizers[0].dropout = 0.1;
    numbers.settings().seeds = {1, 2, 3};
    for (size_t i = 0; i < row.near.size(); ++i) {
      for (const NormUse network : {NormUse::LayerNorm, NormUse::CbwcRmsNorm, NormUse::RmsNorm}) {
        RunRecord& record = numbers.add(network, 1);
        record.member.seed = static_cast<int64_t>(i) + 1;
        if (network != NormUse::LayerNorm)
          record.weight_difference = network == NormUse::RmsNorm ? row.far[i] : row.near[i];
      }
    }
    numbers.find();
    const Finding found = numbers.about("stays nearer to LayerNorm than RMSNorm alone");
    EXPECT_EQ(found.holds, row.holds) << found.text;
    EXPECT_EQ(found.text.find("not beyond what the seeds differ by"), row.holds ? std::string::npos : 0U) << found.text;
  }
}

}  // namespace
}  // namespace normlens::lab
