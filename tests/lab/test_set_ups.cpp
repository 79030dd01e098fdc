// The papers' training set-ups as rows: in which of them RMSNorm behind centered weights trains as LayerNorm does.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "core/lab/findings/findings.h"
#include "tests/lab/small_run.h"

namespace normlens::lab {
namespace {

constexpr double kRounding = 1e-11;  // float64, over a few epochs

RunSettings exactly(RunSettings settings,
                    OptimizerSettings training = {.kind = OptimizerKind::Sgd, .learning_rate = 0.02, .momentum = 0.9}) {
  settings.precisions = {Precision::Float64};
  settings.activation = Activation::Gelu;
  settings.optimizers = {training};
  return settings;
}

struct SetUp {
  const char* name;
  const char* section;  // of the paper that says so
  RunSettings settings;
};

RunSettings deep(int layers) {
  RunSettings settings = exactly(smallRun(Experiment::Equivalence, Architecture::ResidualMlp));
  settings.layers = {layers};
  settings.epochs = 2;
  settings.optimizers[0].learning_rate = 1e-3;
  return settings;
}

RunSettings convolutional(int positions) {
  RunSettings settings = exactly(smallRun(Experiment::Equivalence, Architecture::Convolutional));
  settings.data.kind = DataKind::Teacher;
  settings.data.features = positions;
  settings.groups = 4;
  return settings;
}

RunSettings trainedBy(OptimizerSettings training) { return exactly(smallRun(), training); }

OptimizerSettings sgd() { return {.kind = OptimizerKind::Sgd, .learning_rate = 0.05, .momentum = 0.9}; }
OptimizerSettings scheduled() {
  OptimizerSettings training = sgd();
  training.schedule = Schedule::Cosine;
  training.warmup = 0.2;
  return training;
}
OptimizerSettings clipped() {
  OptimizerSettings training = sgd();
  training.clip_norm = 0.1;
  return training;
}
OptimizerSettings decaying(DecayOf of) {
  OptimizerSettings training = sgd();
  training.weight_decay = 0.01;
  training.decay_of = of;
  return training;
}

const SetUp kSame[] = {
    {"residual_mlp_65", "001 F", deep(65)},
    {"residual_mlp_100", "001 F", deep(100)},
    {"group_norm_of_one_position", "001 C.3", convolutional(1)},
    {"pre_norm_transformer", "001 D.3.3", exactly(smallTransformer())},
    {"schedule", "001 3.2", trainedBy(scheduled())},
    {"clipping", "001 3.2", trainedBy(clipped())},
    {"decay_of_the_stored_weight", "001 C.4", trainedBy(decaying(DecayOf::Weight))},
    {"decay_of_the_centered_weight", "001 C.4", trainedBy(decaying(DecayOf::Centered))},
};

class SameTraining : public testing::TestWithParam<SetUp> {};

TEST_P(SameTraining, CenteredWeightsWithRmsNormTrainAsLayerNorm) {
  const RunResult result = trained(GetParam().settings);
  EXPECT_LT(mostDifference(result, NormUse::CbwcRmsNorm), kRounding) << GetParam().section;
  EXPECT_GT(mostDifference(result, NormUse::RmsNorm), 1e-5) << GetParam().section;
  EXPECT_TRUE(
      std::ranges::none_of(result.records, [](const RunRecord& record) { return record.event == RunEvent::Diverged; }));
}

INSTANTIATE_TEST_SUITE_P(SetUps, SameTraining, testing::ValuesIn(kSame),
                         [](const auto& row) { return row.param.name; });

// A clip or a schedule that nothing meets would show nothing.
TEST(SetUps, ClippingAndScheduleChangeWhatIsTrained) {
  const auto lossOf = [](const OptimizerSettings& training) {
    return *trained(trainedBy(training)).records.back().train_loss;
  };
  const double plain = lossOf(sgd());
  EXPECT_GT(std::abs(lossOf(scheduled()) - plain), 1e-4);
  EXPECT_GT(std::abs(lossOf(clipped()) - plain), 1e-4);
}

// Papers 003 §3.2: Pre-LN, Pre-RMSNorm and Pre-CRMSNorm are one network. ε is large enough to be seen where it is lost.
TEST(SetUps, ThreeTransformersAreOne) {
  RunSettings settings = exactly(smallTransformer());
  settings.networks = {NormUse::LayerNorm, NormUse::CbwcRmsNorm, NormUse::CrmsNorm};
  settings.norm_eps = 0.1;
  settings.optimizers.push_back(
      {.kind = OptimizerKind::Sgd, .learning_rate = 0.05, .weight_decay = 0.01, .decay_of = DecayOf::Centered});
  const RunResult result = trained(settings);
  for (const int optimizer : {0, 1}) {
    EXPECT_LT(mostDifference(result, NormUse::CbwcRmsNorm, optimizer), kRounding);
    EXPECT_LT(mostDifference(result, NormUse::CrmsNorm, optimizer), kRounding);
    EXPECT_GT(mostDifference(result, NormUse::CrmsNorm, optimizer), 0);  // it is computed in another way
  }
  const auto said = std::ranges::find_if(result.findings, [](const Finding& finding) {
    return finding.claim.find("CRMSNorm is trained to the weights") == 0;
  });
  ASSERT_NE(said, result.findings.end());
  EXPECT_EQ(said->holds, true) << said->text;
}

// Papers 001 D.3.2 calls the norms of a post-LN transformer foldable. γ and β give each norm's output a mean, which the
// next one reads by the residual: with them the training is another, without it is the same.
TEST(SetUps, PostNormIsAnotherTrainingOnceGammaVaries) {
  RunSettings settings = exactly(smallTransformer(Architecture::PostNormTransformer));
  const auto differenceAt = [&](bool random) {
    settings.random_affine = random;
    return std::pair(trained(settings), random);
  };
  const RunResult fresh = differenceAt(false).first, varied = differenceAt(true).first;
  const auto first = [](const RunResult& result, size_t index) { return result.records[index].test_loss; };
  EXPECT_NEAR(first(fresh, 0), first(fresh, 1), 1e-12);  // γ is 1 and β 0: equal
  EXPECT_GT(std::abs(first(varied, 0) - first(varied, 1)), 1e-6);
  EXPECT_GT(mostDifference(fresh, NormUse::CbwcRmsNorm), 1e-6);
}

// Papers 001 C.3 center each group over its channels alone. Over several positions GroupNorm takes away one mean of
// them all, and what the positions' own means differ by stays in: only the first is what LayerNorm's weights do.
TEST(SetUps, GroupNormOverPositionsIsAnotherTraining) {
  const RunResult result = trained(convolutional(12));
  EXPECT_GT(mostDifference(result, NormUse::CbwcRmsNorm), 1e-4);
  EXPECT_GT(std::abs(result.records[0].test_loss - result.records[1].test_loss), 1e-4);
}

// Papers 001 §5.3: dropout between a linear layer and its norm breaks the equality; CBWC then lies between the two.
TEST(SetUps, WithDropoutCbwcLiesBetweenLayerNormAndRmsNorm) {
  RunSettings settings = trainedBy({.kind = OptimizerKind::Sgd, .learning_rate = 0.01, .dropout = 0.1});
  settings.seeds = {1, 2, 3};
  const RunResult result = trained(settings);
  EXPECT_GT(mostDifference(result, NormUse::CbwcRmsNorm), 1e-4);
  const auto said = std::ranges::find_if(result.findings, [](const Finding& finding) {
    return finding.claim.find("stays nearer to LayerNorm") != std::string::npos;
  });
  ASSERT_NE(said, result.findings.end());
  EXPECT_EQ(said->holds, true) << said->text;
  EXPECT_LT(*said->value, *said->limit);
  EXPECT_NE(said->text.find(" ± "), std::string::npos) << said->text;  // over three seeds
}

// bfloat16 multiplies with 8 bits: networks that are equal in float64 part by its rounding.
TEST(SetUps, AutocastRoundsToBFloat16) {
  RunSettings settings = exactly(smallRun());
  settings.precisions = {Precision::Float32, Precision::BFloat16};
  settings.optimizers = {sgd()};
  const RunResult result = trained(settings);
  const double wide = mostDifference(result, NormUse::CbwcRmsNorm, 0, Precision::Float32);
  const double narrow = mostDifference(result, NormUse::CbwcRmsNorm, 0, Precision::BFloat16);
  EXPECT_LT(wide, sameWeightsLimit(Precision::Float32));
  EXPECT_GT(narrow, 10 * wide);
  EXPECT_LT(narrow, mostDifference(result, NormUse::RmsNorm, 0, Precision::BFloat16));
}

// Papers 001 F, Figures 14 and 15, and 002 §3: each layer's statistics, and its angle to the uniform vector.
TEST(SetUps, EachLayerHasItsStatisticsAndItsAngle) {
  RunSettings settings = exactly(smallRun());
  settings.random_affine = false;
  const RunResult result = trained(settings);
  EXPECT_FALSE(rightAngles(result).has_value());  // 002 says it of transformers
  for (const RunRecord& record : result.records) {
    ASSERT_EQ(record.norms.size(), 3U);
    ASSERT_EQ(record.activations.size(), 3U);
    for (const InputStatistics& norm : record.norms) {
      EXPECT_GT(norm.length, 0);
      if (record.member.network == NormUse::CbwcRmsNorm) {
        EXPECT_NEAR(norm.angle, 90, 1e-6);  // its mean is 0
      }
    }
    const InputStatistics& read = record.activations.front();
    EXPECT_NEAR(read.length, std::sqrt(16.0), record.epoch == 0 ? 0.1 : 2) << record.epoch;
  }
  const auto angles = rightAngles(trained(exactly(smallTransformer())));
  ASSERT_TRUE(angles.has_value());
  EXPECT_GT(*angles->value, 1e-3) << angles->text;  // RMSNorm alone reads what has a mean
}

TEST(SetUps, TheCostIsMeasuredAtEachBatch) {
  RunSettings settings = smallRun(Experiment::Cost);
  settings.epochs = 1;
  settings.rounds = 2;
  settings.steps_per_round = 1;
  settings.batches = {8, 64};
  std::vector<int64_t> left;  // at each round that was measured
  RunControl control;
  control.onRecord = [&](const RunRecord& record) {
    if (record.event == RunEvent::Measured) left.push_back(record.of - record.done);
  };
  const RunResult result = trained(settings, {}, control);
  EXPECT_EQ(left, (std::vector<int64_t>{3, 2, 1, 0})) << "the bar is not full before";
  EXPECT_GT(result.seconds, result.records.back().seconds);
  ASSERT_EQ(result.costs.size(), 6U);
  EXPECT_EQ(result.costs.front().batch, 8);
  EXPECT_EQ(result.costs.back().batch, 64);
  ASSERT_EQ(result.findings.size(), 1U);
  EXPECT_EQ(result.findings.front().limit, 16.0);  // p
  EXPECT_TRUE(result.findings.front().holds.has_value());
}

}  // namespace
}  // namespace normlens::lab
