#include "core/lab/findings/findings.h"

#include <gtest/gtest.h>

namespace normlens::lab {
namespace {

// Two epochs of each network, with what the test says of them.
class Numbers {
 public:
  explicit Numbers(const std::string& experiment) { result_.settings.experiment = experiment; }
  RunSettings& settings() { return result_.settings; }

  RunRecord& add(const std::string& network, int epoch, const std::string& precision = "float32") {
    RunRecord record;
    record.event = "epoch";
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
    Numbers numbers("equivalence");
    numbers.add("layer_norm", 1);
    numbers.add("cbwc_rms_norm", 1).weight_difference = difference;
    numbers.add("layer_norm", 2);
    RunRecord& last = numbers.add("cbwc_rms_norm", 2);
    last.weight_difference = 1e-7;
    last.train_loss = 1.25;
    numbers.add("rms_norm", 2).weight_difference = difference;
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
    Numbers numbers("equivalence");
    numbers.settings().precisions = {"float32", "float64"};
    numbers.add("cbwc_rms_norm", 1).weight_difference = 1e-6;
    numbers.add("cbwc_rms_norm", 1, "float64").weight_difference = inDouble;
    numbers.find();
    EXPECT_EQ(numbers.about("but for rounding").holds, inDouble < 1e-10);
  }
}

TEST(Findings, ARunWithoutNumbersDecidesNothing) {
  Numbers numbers("equivalence");
  numbers.find();
  EXPECT_FALSE(numbers.about("to the weights of LayerNorm").holds.has_value());
}

TEST(Findings, ADivergedNetworkIsTold) {
  Numbers numbers("equivalence");
  numbers.add("cbwc_rms_norm", 1).weight_difference = 1e-7;
  numbers.add("cbwc_rms_norm", 1).event = "diverged";
  numbers.find();
  EXPECT_NE(numbers.about("to the weights").text.find("a network diverged"), std::string::npos);
}

TEST(Findings, TheDepthOrderingIsThatOfTheNumbers) {
  for (const double swing : {0.5, 4.0}) {
    Numbers numbers("depth_sweep");
    numbers.add("layer_norm", 1).inputs = {{1, 0, 1, 0, 10, 0}};
    RunRecord& other = numbers.add("layer_norm", 2);
    other.inputs = {{2, 0, 1, 0, 11, 0}};
    other.test_accuracy = 0.5;
    RunRecord& best = numbers.add("rms_norm", 1);
    best.inputs = {{1, 0, 1, 0, 10, 0}};
    best.test_accuracy = 0.75;
    RunRecord& last = numbers.add("rms_norm", 2);
    last.inputs = {{1.5, 0, 1, 0, 10 + swing, 0}};
    last.test_accuracy = 0.125;  // below the other network's
    numbers.find();
    EXPECT_EQ(numbers.about("the length of the last layer's input").holds, swing > 1);
    EXPECT_EQ(numbers.about("the mean of the last layer's input").holds, false);
    const Finding better = numbers.about("LayerNorm reaches a better test accuracy than RMSNorm");
    EXPECT_EQ(better.holds, false);
    EXPECT_EQ(better.text.find("in each one's best epoch "), 0U) << better.text;
    EXPECT_TRUE(better.text.ends_with(" against 75.0 %")) << better.text;
  }
}

TEST(Findings, ADifferenceInsideTheNoiseIsNone) {
  Numbers numbers("cost");
  numbers.result_.costs = {{{"rms_norm", 6, 0, 1, "float32"}, 1, 1, 1, 1.5, 0.9, 1.8, true, 0}};
  numbers.find();
  EXPECT_FALSE(numbers.about("RMSNorm alone takes less time").holds.has_value());
  numbers.result_.costs[0].noise = false;
  numbers.find();
  EXPECT_EQ(numbers.about("RMSNorm alone takes less time").holds, true);
}

}  // namespace
}  // namespace normlens::lab
