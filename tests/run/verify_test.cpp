// The proof of a fold, and which norms the outputs of a model do not show: a path of continuous ops shows one, a step
// or an index ends it.
#include <gtest/gtest.h>

#include "core/run/proof/deciding_values.h"
#include "core/run/proof/hidden_norms.h"
#include "core/run/proof/verify.h"
#include "core/run/tensors.h"
#include "tests/support/fake_model.h"
#include "tests/support/graph_text.h"
#include "tests/support/must.h"

namespace normlens::run {
namespace {

using test::FakeModel;
using test::Fault;

Result<Verification> verifyFake(const FakeModel& model, const Task& task = {}) {
  const fold::FoldPlan plan;
  const auto norms = FakeModel::norms();
  const auto folded = model.apply(plan, norms, formats::NormFlavour::Portable, task);
  return verifyFold({model, **folded, plan, norms}, FakeModel::sample(), {}, task);
}

// The same with a look at the norm's output.
Result<Verification> verifyFakeInside(const FakeModel& model) {
  const auto norms = FakeModel::norms();
  const auto change = [&](const formats::Model& twin) {
    return twin.apply({}, norms, formats::NormFlavour::Portable, {});
  };
  const auto folded = change(model);
  return verifyChange({model, **folded, change, norms, {norms.front().output}}, FakeModel::sample(), {}, {});
}

int runsOf(FakeModel model, Result<Verification> (*verified)(const FakeModel&)) {
  int runs = 0;
  model.onRun = [&] { ++runs; };
  EXPECT_TRUE(verified(model));
  return runs;
}
int runsOf(const FakeModel& model) {
  return runsOf(model, [](const FakeModel& counting) { return verifyFake(counting); });
}

TEST(Verify, ARightFoldIsProved) {
  const auto result = must(verifyFake(FakeModel()));
  EXPECT_EQ(result.exact, true);
  ASSERT_TRUE(result.algebra.worst && result.file.worst);
  EXPECT_LE(result.algebra.worst->maxRel, 1e-12);
  EXPECT_EQ(result.algebra.reason, "");
  EXPECT_EQ(result.algebra.runs, 3);  // the sample, a second size and, as there is no third, a draw
  EXPECT_TRUE(result.algebra.otherSize);
  EXPECT_EQ(result.fileType, graph::DType::Float32);
  EXPECT_GE(result.file.noiseFloor, machineEpsilon(graph::DType::Float32));
  EXPECT_EQ(result.file.limit, 6 * result.file.noiseFloor);
  EXPECT_LE(result.file.worst->maxRel, result.file.limit);
  EXPECT_EQ(result.algebra.limit, 1e-10);
  ASSERT_TRUE(result.file.errors);
  EXPECT_LE(result.file.errors->folded, result.file.limit);
  EXPECT_GT(result.file.worst->maxRel, 0);
  EXPECT_EQ(result.file.outputs.size(), 1U);
  EXPECT_EQ(result.firstDiverging, "");
}

TEST(Verify, AWrongFoldIsRefutedAndTheNormIsNamed) {
  const auto result = must(verifyFake(FakeModel(Fault::NotCentered)));
  EXPECT_EQ(result.exact, false);
  EXPECT_GT(result.algebra.worst->maxRel, 0.01);
  EXPECT_EQ(result.firstDiverging, "ln");
}

TEST(Verify, AnErrorBelowTheNoiseOfTheFileIsRefutedByTheAlgebra) {
  const auto result = must(verifyFake(FakeModel(Fault::SlightlyOff)));
  EXPECT_EQ(result.exact, false);
  EXPECT_LE(result.file.worst->maxRel, 6 * result.file.noiseFloor);
  EXPECT_GT(result.algebra.worst->maxRel, 1e-10);
}

TEST(Verify, SaysWhatIsDecidedAndWhy) {
  const std::string noOp = "the folded model fails where the original runs: no such op";
  for (const auto& [fault, exact, algebra, file] : std::initializer_list<
           std::tuple<Fault, std::optional<bool>, std::optional<std::string>, std::optional<std::string>>>{
           {Fault::Narrow, std::nullopt, "aten::to computes in less than float64", std::nullopt},
           {Fault::NoFloat64, true, "quantised weights have no float64 copy", ""},
           {Fault::NotANumber, std::nullopt, std::nullopt, "not finite anywhere"},
           {Fault::OnlyFlags, std::nullopt, std::nullopt, "nothing is proved"},
           {Fault::FoldedFails, false, noOp, noOp},
           {Fault::FoldedShape, false, std::nullopt,
            "'out_0' is float32[3,4] in one model and float32[12] in the other"},
           {Fault::OriginalFails, std::nullopt, "the float64 copy does not run: this model does not run",
            "the model does not run on these inputs: this model does not run"}}) {
    const auto result = must(verifyFake(FakeModel(fault)));
    EXPECT_EQ(result.exact, exact) << result.algebra.reason << result.file.reason;
    EXPECT_EQ(result.algebra.reason, algebra.value_or(result.algebra.reason));
    EXPECT_PRED2(contains, result.file.reason, file.value_or(""));
  }
}

TEST(Verify, WithoutFloat64TheFilesDecide) {
  const auto result = must(verifyFake(FakeModel(Fault::NoFloat64)));
  EXPECT_TRUE(!result.algebra.worst && result.file.worst);
  EXPECT_EQ(must(verifyFakeInside(FakeModel(Fault::Narrow))).exact, std::nullopt);
}

TEST(Verify, TheNoiseOfOneOutputExcusesNoOther) {
  const auto result = must(verifyFake(FakeModel(Fault::FlippingIndex)));
  EXPECT_EQ(result.file.outputs.size(), 2U);
  EXPECT_EQ(result.exact, false);
  EXPECT_GT(result.file.worst->maxRel, 0.01);
  EXPECT_LT(result.file.noiseFloor, 1e-5);
}

TEST(Verify, WhatSumsLoseIsNotHeldAgainstAFoldWhoseAlgebraIsProved) {
  const auto result = must(verifyFake(FakeModel(Fault::Cancelling)));
  EXPECT_EQ(result.exact, true);
  EXPECT_GT(result.file.worst->maxRel, 1e-5);
  EXPECT_GT(result.file.noiseFloor, 1e-5);
}

TEST(Verify, AFloat64CopyThatDrawsOtherNumbersExcusesNothing) {
  const auto result = must(verifyFake(FakeModel(Fault::OtherDraws)));
  EXPECT_LE(result.algebra.worst->maxRel, 1e-10);
  EXPECT_EQ(result.exact, false);
  EXPECT_LE(result.file.noiseFloor, 0.15);
  EXPECT_EQ(must(verifyFake(FakeModel(Fault::OtherDraws, graph::DType::Float16))).exact, false);
}

TEST(Verify, AHalfTypeThatLosesAllDigitsIsExcusedWhatFloat32ShowsToBeRounding) {
  const auto result = must(verifyFake(FakeModel(Fault::Cancelling, graph::DType::Float16)));
  EXPECT_EQ(result.exact, true);
  EXPECT_GT(result.file.noiseFloor, 0.1);
}

TEST(Verify, AnOriginalThatOverflowsRefusesNoFoldThatIsRightThere) {
  for (const auto type : {graph::DType::Float16, graph::DType::Float32}) {
    EXPECT_EQ(must(verifyFake(FakeModel(Fault::Overflows, type))).exact, true);
    EXPECT_EQ(must(verifyFake(FakeModel(Fault::Overflown, type))).exact, false);
  }
}

TEST(Verify, NumbersThatAreHugeHideNothing) {
  for (const Fault fault : {Fault::HugeNumbers, Fault::HugeRow}) {
    const auto result = must(verifyFake(FakeModel(fault)));
    EXPECT_EQ(result.exact, false);
    EXPECT_GT(result.algebra.worst->maxRel, 1e-4);
    EXPECT_EQ(result.algebra.limit, 1e-10);
  }
}

TEST(Verify, TheOriginalsOwnNoiseInFloat64IsNotHeldAgainstAFold) {
  const auto right = verifyFake(FakeModel(Fault::Noisy)), wrong = verifyFake(FakeModel(Fault::NoisyAndOff));
  ASSERT_TRUE(right && wrong);
  EXPECT_EQ(right->exact, true);
  EXPECT_GT(right->algebra.worst->maxRel, 1e-10);
  EXPECT_LE(right->algebra.worst->maxRel, right->algebra.limit);
  EXPECT_LT(right->algebra.limit, 1e-7);
  EXPECT_EQ(wrong->exact, false);
  EXPECT_GT(wrong->algebra.worst->maxRel, wrong->algebra.limit);
}

TEST(Verify, AFoldThatIsNearerToExactThanItsOriginalIsNotRefused) {
  const auto result = must(verifyFake(FakeModel(Fault::LargeMean, graph::DType::Float16)));
  EXPECT_EQ(result.exact, true);
  ASSERT_TRUE(result.file.errors);
  EXPECT_GT(result.file.errors->original, 10 * result.file.errors->folded);
}

TEST(Verify, AnOriginalThatIsRightByLuckRefusesNothing) {
  const auto result = must(verifyFake(FakeModel(Fault::LuckyOnSample)));
  EXPECT_EQ(result.exact, true);
  ASSERT_TRUE(result.file.errors);
  EXPECT_GT(result.file.errors->folded, 100 * result.file.errors->original);
  EXPECT_LE(result.file.errors->folded, 6 * result.file.noiseFloor);
  EXPECT_EQ(result.file.floor, ErrorFloor::OtherRows);
}

TEST(Verify, WhatTheOriginalRefusesIsNotCounted) {
  const auto result = must(verifyFake(FakeModel(Fault::OnlySample)));
  EXPECT_EQ(result.exact, true);
  EXPECT_EQ(result.algebra.runs, 1);
  EXPECT_FALSE(result.algebra.otherSize);
}

// The twins on three sets, and one of them at four widths and two numbers of axes that it refuses; the files on two of
// these, for which the twin's outputs are known.
constexpr int kFewestRuns = 2 * 3 + 4 + 2 + 2 * 2;

TEST(Verify, EachModelRunsOnceForEachComparison) {
  EXPECT_EQ(runsOf(FakeModel(), verifyFakeInside), kFewestRuns);
  EXPECT_EQ(runsOf(FakeModel()), kFewestRuns + 1) << "nobody watched what the twin computed in";
}

struct NoiseCase {
  double off;  // the folded model, in units of what copies are off by at most
  bool exact;  // what all eight copies would say
  int copies;  // that were run
};

// The eight copies are off by 0.841, 0.909, 0.141, 0.757, 0.959, 0.279, 0.657 and 0.989.
TEST(Verify, WithoutFloat64CopiesOfTheOriginalAreRunUntilTheFoldPasses) {
  for (const auto& [off, exact, copies] :
       {NoiseCase{0.001, true, 0}, NoiseCase{0.5, true, 1}, NoiseCase{4.9, true, 1}, NoiseCase{5.2, true, 2},
        NoiseCase{5.6, true, 5}, NoiseCase{5.85, true, 8}, NoiseCase{6.1, false, 8}, NoiseCase{60, false, 8}}) {
    FakeModel model(Fault::NoFloat64);
    model.fileNoise = 1e-4;
    model.foldedOff = off * model.fileNoise;
    const auto result = verifyFake(model);
    ASSERT_TRUE(result) << off;
    EXPECT_EQ(result->exact, exact) << off;
    EXPECT_FALSE(result->file.errors);
    EXPECT_EQ(result->file.floor, off < 0.01 ? ErrorFloor::Roundings : ErrorFloor::Noise) << off;
    // Both files on two sets; with a copy there are two runs; where all of them are too few, four more name the norm.
    EXPECT_EQ(runsOf(model), 2 * 2 + 2 * copies + (exact ? 0 : 4)) << off;
  }
}

// Weights that move would excuse this: their outliers cancel, and the original is right all the same.
TEST(Verify, NoiseOfWeightsExcusesNothingWhereTheOriginalsOwnErrorIsKnown) {
  for (FakeModel model : {FakeModel(), FakeModel(Fault::NoFloat64, graph::DType::Float16)}) {
    model.fileNoise = model.facts().dtype == graph::DType::Float16 ? 1 : 1e-4;
    model.foldedOff = 0.5 * model.fileNoise;
    const auto result = must(verifyFake(model));
    EXPECT_EQ(result.exact, false);
    ASSERT_TRUE(result.file.errors);
    EXPECT_GT(result.file.errors->folded, 6 * result.file.errors->original);
  }
}

TEST(Verify, WithoutAWiderTypeNothingIsProvedOfAHalfOne) {
  const auto result = must(verifyFake(FakeModel(Fault::NoCopy, graph::DType::BFloat16)));
  EXPECT_EQ(result.exact, std::nullopt);
  EXPECT_NE(result.file.reason.find("runs in no type wider than bfloat16"), std::string::npos) << result.file.reason;
  EXPECT_EQ(must(verifyFake(FakeModel(Fault::NoCopy))).exact, true);
}

TEST(Verify, AModelOfOneSizeIsProvedAtThatSize) {
  const auto result = must(verifyFake(FakeModel(Fault::FixedSize)));
  EXPECT_EQ(result.exact, true);
  EXPECT_FALSE(result.algebra.otherSize);
  EXPECT_EQ(result.algebra.runs, 3);
}

TEST(Verify, AFloat64FileIsJudgedByTheLimitOfTheAlgebra) {
  const auto right = must(verifyFake(FakeModel(Fault::BarelyOff, graph::DType::Float64)));
  EXPECT_EQ(right.exact, true);
  EXPECT_GT(right.file.worst->maxRel, 24 * machineEpsilon(graph::DType::Float64));
  EXPECT_LE(right.file.worst->maxRel, right.file.limit);
  const auto wrong = must(verifyFake(FakeModel(Fault::SlightlyOff, graph::DType::Float64)));
  EXPECT_EQ(wrong.exact, false);
}

TEST(Verify, NothingIsDecidedForWantOfMemory) {
  const int runs = runsOf(FakeModel());
  for (const bool again : {false, true}) {  // for all runs from then on, or for one
    for (int failAt = 1; failAt <= runs; ++failAt) {
      FakeModel model;
      int count = 0;
      model.onRun = [&] {
        if (++count == failAt || (again && count > failAt)) throw std::bad_alloc();
      };
      const auto result = verifyFake(model);
      if (result) {  // a draw or a size that the original did without
        EXPECT_EQ(result->exact, true) << failAt;
        EXPECT_TRUE(result->algebra.worst && result->file.worst) << failAt;
      } else {
        EXPECT_EQ(result.error().code, ErrorCode::RunFailed) << failAt;
        EXPECT_EQ(result.error().message,
                  "it could not be decided whether anything changes: there is not enough memory");
      }
      const bool onlyADraw = failAt == runs - 1;  // is left, of the files: the sample has been compared
      EXPECT_FALSE(result && again && !onlyADraw) << failAt;
    }
  }
}

TEST(Verify, StopsAtEveryRunWhenCancelled) {
  const int all = runsOf(FakeModel());
  ASSERT_GT(all, 10);
  for (int stopAt = 1; stopAt <= all; ++stopAt) {
    FakeModel model;
    std::stop_source stop;
    int count = 0;
    model.onRun = [&] {
      if (++count == stopAt) stop.request_stop();
    };
    const auto result = verifyFake(model, Task{.onProgress = nullptr, .stop = stop.get_token()});
    ASSERT_FALSE(result) << stopAt;
    EXPECT_EQ(result.error().code, ErrorCode::Cancelled);
    EXPECT_EQ(count, stopAt) << "a run after the stop";
  }
}

TEST(Verify, ReportsProgressThatNeverGoesBack) {
  double last = 0;
  bool any = false;
  const Task task{.onProgress =
                      [&](std::string_view, double fraction) {
                        if (fraction < 0) return;
                        EXPECT_GE(fraction, last);
                        EXPECT_LE(fraction, 1);
                        last = fraction;
                        any = true;
                      },
                  .stop = {}};
  ASSERT_TRUE(verifyFake(FakeModel(), task));
  EXPECT_TRUE(any);
}

// Names of what ends before a step, of the norm %n; none where an output shows it.
std::vector<std::string> beforeSteps(const std::string& body) {
  const auto graph = graph::parsed(R"(graph {
  input %x: float32[3, 8]
  input %w: float32[3, 8]
  %n: float32[3, 8] = LayerNorm(%x, _, _) {axes = [1], eps = 1e-05}
  %r: float32[3, 8] = Elementwise(%n) function Relu op "Relu"
)" + body + "}");
  std::vector<std::string> names;
  for (const auto& hidden : hiddenNorms(graph, {graph.node(0).outputs[0]}, decidingValues(graph)))
    for (const auto value : hidden.before) names.push_back(graph.value(value).name);
  return names;
}

using Names = std::vector<std::string>;

TEST(HiddenNorms, AStepHidesWhatItReads) {
  EXPECT_EQ(beforeSteps("  %y: float32[3, 8] = Elementwise(%r) function Step op \"Ceil\"\n  return %y\n"), Names{"r"});
  EXPECT_EQ(beforeSteps("  %y: float32[3, 8] = Opaque(%r) op \"Own\"\n  return %y\n"), Names{"r"});
  EXPECT_EQ(beforeSteps("  %y: float32[3, 8] = Elementwise(%r) function Step op \"Ceil\"\n"
                        "  %z: float32[3, 8] = Add(%y, %n)\n  return %z\n"),
            Names{})
      << "the sum shows it beside the step";
}

TEST(HiddenNorms, FlagsAndIndicesHideWhatTheyWereMadeFrom) {
  EXPECT_EQ(beforeSteps("  %c: bool[3, 8] = Elementwise(%r) op \"Greater\"\n"
                        "  %y: float32[3, 8] = Where(%c, %w, 1)\n  return %y\n"),
            Names{"r"});
  EXPECT_EQ(beforeSteps("  %c: int64[3] = Reduce(%r) {op = \"argmax\"}\n"
                        "  %y: float32[3, 8] = Gather(%w, %c) {axis = 0}\n  return %y\n"),
            Names{"r"});
  EXPECT_EQ(beforeSteps("  %c: int64[3] = Reduce(%r) {op = \"argmax\"}\n  return %c\n"), Names{})
      << "what decides an output is compared anyway";
  EXPECT_EQ(beforeSteps("  %c: int64[2] = ShapeQuery(%r)\n  return %w\n"), Names{}) << "no number of it is read";
}

// What goes into a loop comes out of it at its own place, and the trip count carries nothing.
TEST(HiddenNorms, LoopsAndBranchesAreFollowed) {
  const auto loop = [](const std::string& carried, const std::string& end) {
    return beforeSteps("  %o: float32[3, 8], %p: float32[3, 8] = Loop(3, 1, " + carried + R"()
  block (%i: int64[], %a: float32[3, 8], %b: float32[3, 8]) {
    %s: float32[3, 8] = Elementwise(%a) function Step op "Sign"
    return 1, %s, %b
  }
  return )" + end + "\n");
  };
  EXPECT_EQ(loop("%w, %r", "%p"), Names{});
  EXPECT_EQ(loop("%r, %w", "%p"), Names{"a"});
}

}  // namespace
}  // namespace normlens::run
