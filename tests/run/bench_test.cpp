#include <gtest/gtest.h>

#include <cmath>

#include "core/run/compare/compare_models.h"
#include "core/run/inputs/draw.h"
#include "core/run/measure/bench.h"
#include "core/run/measure/sweep.h"
#include "core/run/tensors.h"
#include "tests/support/fake_model.h"
#include "tests/support/must.h"

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

TEST(Statistics, ADifferenceHasTheIntervalOfItsRounds) {
  const auto rounds = roundsOf({1.19, 1.21, 1.2, 1.18, 1.22, 1.2});
  const TimeDifference difference = bootstrapDifference(rounds, 1);
  const RoundMedians medians = medianOver(rounds);
  EXPECT_NEAR(difference.ms, medians.aMs - medians.bMs, 1e-12);
  EXPECT_LT(difference.lowMs, difference.ms);
  EXPECT_GT(difference.highMs, difference.ms);
  EXPECT_GT(difference.lowMs, 0);
  EXPECT_TRUE(std::isinf(bootstrapDifference(roundsOf({1.3}), 1).highMs));
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

// A model against its fold.
Result<BenchReport> benchFold(const BenchOptions& options, const FakeModel& a = FakeModel(), double offB = 0) {
  const auto b = must(a.apply({}, FakeModel::norms(), formats::NormFlavour::Portable, {}));
  dynamic_cast<FakeModel&>(*b).offOnGpu = offB;
  return benchModels(a, b.get(), FakeModel::sample(), options, {});
}

Result<BenchReport> benchAlone(const BenchOptions& options, const Task& task = {}) {
  return benchModels(FakeModel(), nullptr, FakeModel::sample(), options, task);
}

// Of one run each.
BenchOptions quick(int rounds) {
  BenchOptions options;
  options.rounds = rounds;
  options.iterations = 1;
  options.warmup = 0;
  return options;
}

TEST(Bench, TwoModelsSideBySide) {
  BenchOptions options;
  options.rounds = 6;
  const auto report = must(benchFold(options));
  EXPECT_NEAR(report.a.latency.medianMs, 2, 0.01);
  EXPECT_NEAR(report.b->latency.medianMs, 1, 0.01);
  EXPECT_NEAR(report.speedup.ratio, 2, 0.02);
  EXPECT_FALSE(report.speedup.noise);
  EXPECT_TRUE(report.warmedUp);
  EXPECT_TRUE(report.complete);
  EXPECT_GE(report.otherCores, 0);
  EXPECT_EQ(report.rounds.size(), 6U);
  EXPECT_EQ(report.a.samples.size(), size_t{6} * 2 * static_cast<size_t>(options.iterations));
  EXPECT_EQ(report.a.peakBytes, 4096);
  EXPECT_EQ(report.b->ops.size(), 2U);
}

TEST(Bench, TheRoundsEndOnceTheSpeedupIsKnownWellEnough) {
  BenchOptions options = quick(60);
  options.untilPercent = 2;
  const auto report = must(benchFold(options));
  EXPECT_EQ(report.rounds.size(), 8U) << "of fewer the interval says little";
  EXPECT_TRUE(report.complete);
  EXPECT_EQ(report.b->ops.size(), 2U);
  options.untilPercent = 0;  // all of them
  EXPECT_EQ(must(benchFold(options)).rounds.size(), 60U);
}

// By how much the last number of either is off on a GPU.
Result<BenchReport> benchOnGpu(Fault fault, DType dtype, double offA = 0, double offB = 0) {
  FakeModel a(fault, dtype);
  a.hasGpu = true;
  a.offOnGpu = offA;
  BenchOptions options = quick(1);
  options.settings.device = formats::Device::Cuda;
  return benchFold(options, a, offB);
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
  const auto lost = benchOnGpu(Fault::None, DType::Float16, 10 * last);
  ASSERT_TRUE(lost && lost->outputs) << lost->outputsReason;
  EXPECT_FALSE(lost->outputs->isBeyond()) << "the fold is right where the original is not";
  for (const auto& wrong :
       {benchOnGpu(Fault::None, DType::Float16, 0, off),                    // the original loses nothing
        benchOnGpu(Fault::None, DType::Float16, 10 * last, -10 * last)}) {  // more than rounding explains
    ASSERT_TRUE(wrong && wrong->outputs) << wrong->outputsReason;
    EXPECT_TRUE(wrong->outputs->isBeyond()) << wrong->outputs->maxRel << " " << wrong->outputs->noiseFloor;
  }
}

// A measurement that is stopped has its outputs compared all the same.
TEST(Bench, OutputsAreComparedBeforeTheRounds) {
  BenchOptions options = quick(2);
  int compared = 0;
  options.onRound = [&](const BenchReport& soFar) { compared += soFar.outputs ? 1 : 0; };
  ASSERT_TRUE(benchFold(options));
  EXPECT_EQ(compared, options.rounds);
}

TEST(Bench, OutputsThatCannotBeComparedAreAReason) {
  for (const auto& [fault, why] : {std::pair{Fault::FoldedShape, "'out_0' is float32[3,4] in one model"},
                                   {Fault::OnlyFlags, "no output has a finite floating-point number"},
                                   {Fault::FoldedFails, "no such op"}}) {
    const auto report = must(benchOnGpu(fault, DType::Float32));
    EXPECT_FALSE(report.outputs);
    EXPECT_TRUE(report.outputsReason.starts_with(why)) << report.outputsReason;
  }
}

// In all that is told: the medians of all runs are other numbers here.
TEST(Bench, TheMediansAreThoseOfWhichTheFactorIsTheRatio) {
  const auto report = must(benchFold(quick(4)));
  EXPECT_DOUBLE_EQ(report.a.latency.medianMs, medianOver(report.rounds).aMs);
  EXPECT_DOUBLE_EQ(report.speedup.ratio, report.a.latency.medianMs / report.b->latency.medianMs);
  EXPECT_GT(std::abs(median(report.a.samples) - report.a.latency.medianMs), 1e-4);
}

TEST(Bench, CudaGraphsAreRefusedOnTheCpu) {
  BenchOptions options;
  options.settings.cudaGraph = true;
  const Error report = failureOf(benchAlone(options));
  EXPECT_EQ(report.code, ErrorCode::Unsupported);
  EXPECT_EQ(report.message, "CUDA graphs are of CUDA: on the CPU there is nothing to replay");
}

TEST(Bench, OneModelAlone) {
  const auto report = must(benchAlone({}));
  EXPECT_FALSE(report.b);
  EXPECT_FALSE(report.outputs);
  EXPECT_EQ(report.outputsReason, "");
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
  const auto report = must(benchAlone(options, task));
  EXPECT_FALSE(report.complete);
  EXPECT_EQ(report.rounds.size(), 5U);
  EXPECT_NEAR(report.a.latency.medianMs, 2, 0.01);
}

TEST(Bench, StoppedBeforeTheFirstRoundItHasNothing) {
  std::stop_source stop;
  stop.request_stop();
  EXPECT_EQ(failureOf(benchAlone({}, {.onProgress = {}, .stop = stop.get_token()})).code, ErrorCode::Cancelled);
}

TEST(Bench, TellsEachRound) {
  std::vector<size_t> rounds;
  BenchOptions options;
  options.rounds = 4;
  options.onRound = [&](const BenchReport& soFar) { rounds.push_back(soFar.rounds.size()); };
  ASSERT_TRUE(benchAlone(options));
  EXPECT_EQ(rounds, (std::vector<size_t>{1, 2, 3, 4}));
}

TEST(Bench, RefusesCountsBelowOneAndWhatADeviceCannotDo) {
  EXPECT_EQ(failureOf(benchAlone(quick(0))).code, ErrorCode::Usage);
  BenchOptions options;
  options.settings.device = formats::Device::Cuda;
  EXPECT_EQ(failureOf(benchAlone(options)).code, ErrorCode::Unsupported);
}

TEST(Sweep, WithoutOneThereIsOnePoint) {
  const auto points = must(sweepPoints({}, {.threads = 3}));
  ASSERT_EQ(points.size(), 1U);
  EXPECT_TRUE(points.front().at.empty());
  EXPECT_EQ(points.front().settings.threads, 3);
}

TEST(Sweep, EveryCombination) {
  const auto points = must(sweepPoints({"batch=1,2", "dtype=float16,float64", "norm=fast"}, {}));
  ASSERT_EQ(points.size(), 4U);
  const SweepPoint& last = points.back();
  EXPECT_EQ(last.sizes.at("batch"), 2);
  EXPECT_EQ(last.settings.dtype, graph::DType::Float64);
  EXPECT_EQ(last.norm, formats::NormFlavour::Fast);
  ASSERT_EQ(last.at.size(), 3U);
  EXPECT_EQ(last.at[1], (std::pair<std::string, std::string>("dtype", "float64")));
}

TEST(Sweep, ADeviceIsOneOfSeveralGpus) {
  const auto points = must(sweepPoints({"device=cpu,cuda,cuda:0,cuda:3"}, {.device = formats::Device::Cuda, .gpu = 2}));
  ASSERT_EQ(points.size(), 4U);
  std::vector<std::string> names;
  for (const SweepPoint& point : points) names.push_back(formats::deviceName(point.settings));
  EXPECT_EQ(names, (std::vector<std::string>{"cpu", "cuda", "cuda", "cuda:3"}));
  EXPECT_EQ(points.back().settings.gpu, 3);
  EXPECT_EQ(points.front().settings.device, formats::Device::Cpu);
}

TEST(Sweep, WhatItCannotBeIsUsage) {
  for (const char* wrong : {"batch", "=1", "batch=", "batch=1,", "batch=0", "batch=2x", "dtype=int8", "device=tpu",
                            "device=cuda:", "device=cuda:x", "device=cuda:-1", "device=cuda1", "device=cuda:1x",
                            "device=cuda:999", "device=cpu:1", "norm=layer"}) {
    const auto points = sweepPoints({wrong}, {});
    ASSERT_FALSE(points) << wrong;
    EXPECT_EQ(points.error().code, ErrorCode::Usage) << wrong;
  }
  EXPECT_FALSE(sweepPoints({"seq=1", "seq=2"}, {}));
}

formats::InputSpec named(std::vector<std::string> names, std::vector<int> freeAxes) {
  formats::InputSpec spec;
  spec.axisNames = std::move(names);
  spec.freeAxes = std::move(freeAxes);
  return spec;
}

TEST(Sweep, SizesGoByNameOrByAxis) {
  const formats::Tensors inputs = {
      {"ids", fromDoubles(graph::DType::Int64, {2, 5}, std::vector<double>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9})}};
  const auto byAxis = must(inputsAt({{"batch", 3}, {"seq", 7}}, {}, inputs));
  EXPECT_EQ(byAxis.front().view.shape, (graph::Shape{3, 7}));
  const auto byName = must(inputsAt({{"length", 4}}, {named({"", "length"}, {1})}, inputs));
  EXPECT_EQ(byName.front().view.shape, (graph::Shape{2, 4}));
  EXPECT_FALSE(inputsAt({{"depth", 4}}, {}, inputs));
  EXPECT_FALSE(inputsAt({{"depth", 4}}, {named({"", "length"}, {1})}, inputs));
}

std::vector<graph::Shape> shapesAt(const DimSizes& sizes, const std::vector<formats::InputSpec>& specs,
                                   const std::vector<graph::Shape>& shapes) {
  formats::Tensors inputs;
  for (const graph::Shape& shape : shapes) {
    const std::vector<double> zeros(static_cast<size_t>(*graph::elementCount(shape)));
    inputs.push_back({"in_" + std::to_string(inputs.size()), fromDoubles(graph::DType::Float32, shape, zeros)});
  }
  const auto swept = inputsAt(sizes, specs, inputs);
  EXPECT_TRUE(swept) << swept.error().message;
  return swept ? shapesOf(*swept) : std::vector<graph::Shape>{};
}

using Shapes = std::vector<graph::Shape>;

TEST(Sweep, ANameIsItsAxisWhereverItStands) {
  // Only one of two inputs has names, and they are not where they would be looked for otherwise.
  EXPECT_EQ(shapesAt({{"seq", 9}}, {named({}, {}), named({"seq", "batch", ""}, {0, 1})}, {{3, 4}, {5, 2, 64}}),
            (Shapes{{3, 4}, {9, 2, 64}}));
  EXPECT_EQ(shapesAt({{"batch", 8}, {"seq", 9}}, {named({"seq", "batch", ""}, {0, 1})}, {{5, 2, 64}}),
            (Shapes{{9, 8, 64}}));
  // One name, one axis by its place.
  EXPECT_EQ(shapesAt({{"batch", 8}, {"frames", 9}}, {named({"", "frames"}, {1})}, {{2, 7}}), (Shapes{{8, 9}}));
}

TEST(Sweep, ASumFollowsItsTerms) {
  const std::vector specs = {named({"batch", "seq"}, {0, 1}), named({"batch", "past"}, {0, 1}),
                             named({"batch", "past + seq"}, {0, 1})};
  EXPECT_EQ(shapesAt({{"seq", 20}}, specs, {{2, 8}, {2, 3}, {2, 11}}), (Shapes{{2, 20}, {2, 3}, {2, 23}}));
  EXPECT_EQ(shapesAt({{"seq", 20}, {"past", 5}}, specs, {{2, 8}, {2, 3}, {2, 11}}), (Shapes{{2, 20}, {2, 5}, {2, 25}}));
}

TEST(Sweep, OneSizeOfSeveralNamesStaysOne) {
  const std::vector specs = {named({"ids_batch", "ids_seq"}, {0, 1}), named({"mask_batch", "mask_seq"}, {0, 1}),
                             named({"", ""}, {})};
  EXPECT_EQ(shapesAt({{"ids_seq", 20}}, specs, {{2, 8}, {2, 8}, {2, 8}}), (Shapes{{2, 20}, {2, 20}, {2, 8}}));
}

}  // namespace
}  // namespace normlens::run
