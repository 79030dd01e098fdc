#include "core/run/measure/bench.h"

#include <gtest/gtest.h>

#include <cmath>

#include "core/run/compare/compare_models.h"
#include "tests/support/fake_model.h"

namespace normlens::run {
namespace {

using graph::DType;
using test::FakeModel;
using test::Fault;

TEST(Statistics, Percentiles) {
  EXPECT_DOUBLE_EQ(percentile({4, 1, 3, 2}, 0), 1);
  EXPECT_DOUBLE_EQ(percentile({4, 1, 3, 2}, 100), 4);
  EXPECT_DOUBLE_EQ(median({4, 1, 3, 2}), 2.5);
  EXPECT_DOUBLE_EQ(median({7}), 7);
  EXPECT_DOUBLE_EQ(percentile({0, 10}, 95), 9.5);
  EXPECT_TRUE(std::isnan(median({})));
}

TEST(Statistics, SummaryOrdersItsPercentiles) {
  std::vector<double> values;
  for (int i = 0; i < 101; ++i) values.push_back(i);
  const LatencyStats stats = summarize(values);
  EXPECT_DOUBLE_EQ(stats.medianMs, 50);
  EXPECT_DOUBLE_EQ(stats.meanMs, 50);
  EXPECT_DOUBLE_EQ(stats.p5Ms, 5);
  EXPECT_DOUBLE_EQ(stats.p95Ms, 95);
  EXPECT_DOUBLE_EQ(stats.p99Ms, 99);
}

std::vector<RoundMedians> roundsOf(const std::vector<double>& times) {
  std::vector<RoundMedians> rounds;
  for (const double a : times) rounds.push_back({a, 1});
  return rounds;
}

TEST(Statistics, AClearSpeedupIsNoNoise) {
  const Speedup speedup = bootstrapSpeedup(roundsOf({1.19, 1.21, 1.2, 1.18, 1.22, 1.2}), 1);
  EXPECT_NEAR(speedup.ratio, 1.2, 1e-12);
  EXPECT_LE(speedup.low, speedup.ratio);
  EXPECT_GE(speedup.high, speedup.ratio);
  EXPECT_GT(speedup.low, 1.15);
  EXPECT_FALSE(speedup.noise);
}

TEST(Statistics, ADifferenceInsideTheSpreadIsNoise) {
  EXPECT_TRUE(bootstrapSpeedup(roundsOf({0.9, 1.1, 0.95, 1.06, 1.02, 0.97}), 1).noise);
  EXPECT_TRUE(bootstrapSpeedup(roundsOf({1.3}), 1).noise);
  EXPECT_TRUE(std::isinf(bootstrapSpeedup(roundsOf({1.3}), 1).high));
}

TEST(Statistics, TheBootstrapIsDeterministic) {
  const auto rounds = roundsOf({0.9, 1.2, 1.1, 1.3});
  EXPECT_EQ(bootstrapSpeedup(rounds, 5).low, bootstrapSpeedup(rounds, 5).low);
}

// The figures that stand side by side add up: not the median of ratios, which is another number.
TEST(Statistics, TheFactorIsTheRatioOfTheMediansAndLiesInItsInterval) {
  const std::vector<RoundMedians> rounds{{2, 1}, {3, 3}, {10, 4}};
  const Speedup speedup = bootstrapSpeedup(rounds, 3);
  EXPECT_DOUBLE_EQ(speedup.ratio, 1);
  EXPECT_LE(speedup.low, 1);
  EXPECT_GE(speedup.high, 1);
}

TEST(Bench, TwoModelsSideBySide) {
  const FakeModel a;
  const auto b = a.apply({}, FakeModel::norms(), formats::NormFlavour::Portable, {});
  BenchOptions options;
  options.rounds = 6;
  const auto report = benchModels(a, b->get(), FakeModel::sample(), options, {});
  ASSERT_TRUE(report);
  EXPECT_NEAR(report->a.latency.medianMs, 2, 0.01);
  EXPECT_NEAR(report->b->latency.medianMs, 1, 0.01);
  EXPECT_NEAR(report->speedup.ratio, 2, 0.02);
  EXPECT_FALSE(report->speedup.noise);
  EXPECT_TRUE(report->warmedUp);
  EXPECT_TRUE(report->complete);
  EXPECT_GE(report->otherCores, 0);
  EXPECT_EQ(report->rounds.size(), 6U);
  EXPECT_EQ(report->a.samples.size(), size_t{6} * 2 * static_cast<size_t>(options.iterations));
  EXPECT_EQ(report->a.peakBytes, 4096);
  EXPECT_EQ(report->b->ops.size(), 2U);
}

// A model against its fold; by how much the last number of either is off on a GPU.
Result<BenchReport> benchOnGpu(Fault fault, DType dtype, double offA = 0, double offB = 0) {
  FakeModel a(fault, dtype);
  a.hasGpu = true;
  const auto b = a.apply({}, FakeModel::norms(), formats::NormFlavour::Portable, {});
  a.offOnGpu = offA;
  dynamic_cast<FakeModel&>(**b).offOnGpu = offB;
  BenchOptions options;
  options.rounds = options.iterations = 1;
  options.warmup = 0;
  options.settings.device = formats::Device::Cuda;
  return benchModels(a, b->get(), FakeModel::sample(), options, {});
}

TEST(Bench, AWrongResultOnTheDeviceIsSeen) {
  const auto right = benchOnGpu(Fault::None, DType::Float32);
  ASSERT_TRUE(right && right->outputs) << right->outputsReason;
  EXPECT_FALSE(right->outputs->isBeyond());
  EXPECT_DOUBLE_EQ(right->outputs->noiseFloor, divergenceLimit(DType::Float32));
  const auto wrong = benchOnGpu(Fault::None, DType::Float32, 0, 1e-3);
  ASSERT_TRUE(wrong && wrong->outputs) << wrong->outputsReason;
  EXPECT_TRUE(wrong->outputs->isBeyond());
  EXPECT_GT(wrong->outputs->maxRel, 1e-4);
  EXPECT_LT(wrong->outputs->maxRel, 1e-2);
  const auto none = benchOnGpu(Fault::None, DType::Float32, 0, std::nan(""));
  ASSERT_TRUE(none && none->outputs) << none->outputsReason;
  EXPECT_TRUE(none->outputs->isBeyond());
}

// What the original loses in its type is no fault of the other, where rounding explains it.
TEST(Bench, WhatTheTypeAloneCostsIsNoise) {
  const auto last = graph::toDoubles(FakeModel().run(FakeModel::sample(), {})->front().view)->back();
  const double off = 0.07 * last;  // more than the fixed floor of narrow types
  const auto noisy = benchOnGpu(Fault::None, DType::Float16, off);
  ASSERT_TRUE(noisy && noisy->outputs) << noisy->outputsReason;
  EXPECT_GT(noisy->outputs->maxRel, divergenceLimit(DType::Float16));
  EXPECT_FALSE(noisy->outputs->isBeyond()) << noisy->outputs->maxRel << " " << noisy->outputs->noiseFloor;
  for (const auto& wrong : {benchOnGpu(Fault::None, DType::Float16, 0, off),        // the original loses nothing
                            benchOnGpu(Fault::None, DType::Float16, 10 * last)}) {  // more than rounding explains
    ASSERT_TRUE(wrong && wrong->outputs) << wrong->outputsReason;
    EXPECT_TRUE(wrong->outputs->isBeyond()) << wrong->outputs->maxRel << " " << wrong->outputs->noiseFloor;
  }
}

// A measurement that is stopped has its outputs compared all the same.
TEST(Bench, OutputsAreComparedBeforeTheRounds) {
  const FakeModel a;
  const auto b = a.apply({}, FakeModel::norms(), formats::NormFlavour::Portable, {});
  BenchOptions options;
  options.rounds = 2;
  options.iterations = 1;
  options.warmup = 0;
  int compared = 0;
  options.onRound = [&](const BenchReport& soFar) { compared += soFar.outputs ? 1 : 0; };
  ASSERT_TRUE(benchModels(a, b->get(), FakeModel::sample(), options, {}));
  EXPECT_EQ(compared, options.rounds);
}

TEST(Bench, OutputsThatCannotBeComparedAreAReason) {
  for (const auto& [fault, why] : {std::pair{Fault::FoldedShape, "'out_0' is float32[3,4] in one model"},
                                   {Fault::OnlyFlags, "no output has a finite floating-point number"},
                                   {Fault::FoldedFails, "no such op"}}) {
    const auto report = benchOnGpu(fault, DType::Float32);
    ASSERT_TRUE(report);
    EXPECT_FALSE(report->outputs);
    EXPECT_TRUE(report->outputsReason.starts_with(why)) << report->outputsReason;
  }
}

// In all that is told: the medians of all runs are other numbers here.
TEST(Bench, TheMediansAreThoseOfWhichTheFactorIsTheRatio) {
  const FakeModel a;
  const auto b = a.apply({}, FakeModel::norms(), formats::NormFlavour::Portable, {});
  BenchOptions options;
  options.rounds = 4;
  options.iterations = 1;
  options.warmup = 0;
  const auto report = benchModels(a, b->get(), FakeModel::sample(), options, {});
  ASSERT_TRUE(report);
  EXPECT_DOUBLE_EQ(report->a.latency.medianMs, medianOver(report->rounds).aMs);
  EXPECT_DOUBLE_EQ(report->speedup.ratio, report->a.latency.medianMs / report->b->latency.medianMs);
  EXPECT_GT(std::abs(median(report->a.samples) - report->a.latency.medianMs), 1e-4);
}

TEST(Bench, CudaGraphsAreRefusedOnTheCpu) {
  BenchOptions options;
  options.settings.cudaGraph = true;
  const auto report = benchModels(FakeModel(), nullptr, FakeModel::sample(), options, {});
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().code, ErrorCode::Unsupported);
  EXPECT_EQ(report.error().message, "CUDA graphs are of CUDA: on the CPU there is nothing to replay");
}

TEST(Bench, OneModelAlone) {
  const auto report = benchModels(FakeModel(), nullptr, FakeModel::sample(), {}, {});
  ASSERT_TRUE(report);
  EXPECT_FALSE(report->b);
  EXPECT_FALSE(report->outputs);
  EXPECT_EQ(report->outputsReason, "");
}

TEST(Bench, RefusesCountsBelowOne) {
  BenchOptions options;
  options.rounds = 0;
  const auto report = benchModels(FakeModel(), nullptr, FakeModel::sample(), options, {});
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().code, ErrorCode::Usage);
}

TEST(Bench, StoppedItKeepsWhatItHas) {
  std::stop_source stop;
  const Task task{.onProgress =
                      [&](std::string_view, double f) {
                        if (f > 0.4) stop.request_stop();
                      },
                  .stop = stop.get_token()};
  BenchOptions options;
  options.rounds = 10;
  const auto report = benchModels(FakeModel(), nullptr, FakeModel::sample(), options, task);
  ASSERT_TRUE(report);
  EXPECT_FALSE(report->complete);
  EXPECT_EQ(report->rounds.size(), 5U);
  EXPECT_NEAR(report->a.latency.medianMs, 2, 0.01);
}

TEST(Bench, StoppedBeforeTheFirstRoundItHasNothing) {
  std::stop_source stop;
  stop.request_stop();
  const auto report =
      benchModels(FakeModel(), nullptr, FakeModel::sample(), {}, Task{.onProgress = {}, .stop = stop.get_token()});
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().code, ErrorCode::Cancelled);
}

TEST(Bench, TellsEachRound) {
  std::vector<size_t> rounds;
  BenchOptions options;
  options.rounds = 4;
  options.onRound = [&](const BenchReport& soFar) { rounds.push_back(soFar.rounds.size()); };
  ASSERT_TRUE(benchModels(FakeModel(), nullptr, FakeModel::sample(), options, {}));
  EXPECT_EQ(rounds, (std::vector<size_t>{1, 2, 3, 4}));
}

TEST(Bench, SaysWhatADeviceCannotDo) {
  BenchOptions options;
  options.settings.device = formats::Device::Cuda;
  const auto report = benchModels(FakeModel(), nullptr, FakeModel::sample(), options, {});
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().code, ErrorCode::Unsupported);
}

}  // namespace
}  // namespace normlens::run
