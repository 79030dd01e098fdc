#include "core/run/proof/verify.h"

#include <gtest/gtest.h>

#include "core/run/tensors.h"
#include "tests/support/fake_model.h"

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

TEST(Verify, ARightFoldIsProved) {
  const auto result = verifyFake(FakeModel());
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(result->exact, true);
  ASSERT_TRUE(result->algebra && result->file);
  EXPECT_LE(result->algebra->maxRel, 1e-12);
  EXPECT_EQ(result->algebraReason, "");
  EXPECT_EQ(result->algebraRuns, 4);  // the sample, two draws and a second size
  EXPECT_TRUE(result->secondSize);
  EXPECT_EQ(result->fileType, graph::DType::Float32);
  EXPECT_GE(result->noiseFloor, 4 * machineEpsilon(graph::DType::Float32));
  EXPECT_EQ(result->fileLimit, 6 * result->noiseFloor);
  EXPECT_LE(result->file->maxRel, result->fileLimit);
  EXPECT_EQ(result->algebraLimit, 1e-10);
  EXPECT_FALSE(result->nearer);
  EXPECT_GT(result->file->maxRel, 0);
  EXPECT_EQ(result->outputs.size(), 1U);
  EXPECT_EQ(result->firstDiverging, "");
}

TEST(Verify, AWrongFoldIsRefutedAndTheNormIsNamed) {
  const auto result = verifyFake(FakeModel(Fault::NotCentered));
  ASSERT_TRUE(result);
  EXPECT_EQ(result->exact, false);
  EXPECT_GT(result->algebra->maxRel, 0.01);
  EXPECT_EQ(result->firstDiverging, "ln");
}

TEST(Verify, AnErrorBelowTheNoiseOfTheFileIsRefutedByTheAlgebra) {
  const auto result = verifyFake(FakeModel(Fault::SlightlyOff));
  ASSERT_TRUE(result);
  EXPECT_EQ(result->exact, false);
  EXPECT_LE(result->file->maxRel, 6 * result->noiseFloor);
  EXPECT_GT(result->algebra->maxRel, 1e-10);
}

TEST(Verify, NarrowArithmeticIsAFailureThatNamesTheOp) {
  const auto result = verifyFake(FakeModel(Fault::Narrow));
  ASSERT_TRUE(result);
  EXPECT_EQ(result->exact, false);
  EXPECT_EQ(result->algebraReason, "aten::to computes in less than float64");
}

TEST(Verify, WithoutFloat64TheFilesDecide) {
  const auto result = verifyFake(FakeModel(Fault::NoFloat64));
  ASSERT_TRUE(result);
  EXPECT_EQ(result->exact, true);
  EXPECT_FALSE(result->algebra);
  EXPECT_EQ(result->algebraReason, "quantised weights have no float64 copy");
  EXPECT_TRUE(result->file);
}

TEST(Verify, TheNoiseOfOneOutputExcusesNoOther) {
  const auto result = verifyFake(FakeModel(Fault::FlippingIndex));
  ASSERT_TRUE(result);
  EXPECT_EQ(result->outputs.size(), 2U);
  EXPECT_EQ(result->exact, false);
  EXPECT_GT(result->file->maxRel, 0.01);
  EXPECT_LT(result->noiseFloor, 1e-5);
}

TEST(Verify, WhatSumsLoseIsNotHeldAgainstAFoldWhoseAlgebraIsProved) {
  const auto result = verifyFake(FakeModel(Fault::Cancelling));
  ASSERT_TRUE(result);
  EXPECT_EQ(result->exact, true);
  EXPECT_GT(result->file->maxRel, 1e-5);
  EXPECT_GT(result->noiseFloor, 1e-5);
}

TEST(Verify, AFloat64CopyThatDrawsOtherNumbersExcusesNothing) {
  const auto result = verifyFake(FakeModel(Fault::OtherDraws));
  ASSERT_TRUE(result);
  EXPECT_LE(result->algebra->maxRel, 1e-10);
  EXPECT_EQ(result->exact, false);
  EXPECT_LT(result->noiseFloor, 1e-5);
}

TEST(Verify, NumbersThatAreHugeHideNothing) {
  for (const Fault fault : {Fault::HugeNumbers, Fault::HugeRow}) {
    const auto result = verifyFake(FakeModel(fault));
    ASSERT_TRUE(result);
    EXPECT_EQ(result->exact, false);
    EXPECT_GT(result->algebra->maxRel, 1e-4);
    EXPECT_EQ(result->algebraLimit, 1e-10);
  }
}

TEST(Verify, TheOriginalsOwnNoiseInFloat64IsNotHeldAgainstAFold) {
  const auto right = verifyFake(FakeModel(Fault::Noisy)), wrong = verifyFake(FakeModel(Fault::NoisyAndOff));
  ASSERT_TRUE(right && wrong);
  EXPECT_EQ(right->exact, true);
  EXPECT_GT(right->algebra->maxRel, 1e-10);
  EXPECT_LE(right->algebra->maxRel, right->algebraLimit);
  EXPECT_LT(right->algebraLimit, 1e-7);
  EXPECT_EQ(wrong->exact, false);
  EXPECT_GT(wrong->algebra->maxRel, wrong->algebraLimit);
}

TEST(Verify, AFoldThatIsNearerToExactThanItsOriginalIsNotRefused) {
  const auto result = verifyFake(FakeModel(Fault::LargeMean, graph::DType::Float16));
  ASSERT_TRUE(result);
  EXPECT_EQ(result->exact, true);
  EXPECT_GT(result->file->maxRel, result->fileLimit);
  ASSERT_TRUE(result->nearer);
  EXPECT_GT(result->nearer->original, 0.1);
  EXPECT_LT(result->nearer->folded, 0.01);
}

TEST(Verify, WhatTheOriginalRefusesIsNotCounted) {
  const auto result = verifyFake(FakeModel(Fault::OnlySample));
  ASSERT_TRUE(result);
  EXPECT_EQ(result->exact, true);
  EXPECT_EQ(result->algebraRuns, 1);
  EXPECT_FALSE(result->secondSize);
}

TEST(Verify, OutputsThatAreNotANumberProveNothing) {
  const auto result = verifyFake(FakeModel(Fault::NotANumber));
  ASSERT_TRUE(result);
  EXPECT_EQ(result->exact, std::nullopt);
  EXPECT_NE(result->fileReason.find("not finite anywhere"), std::string::npos);
}

TEST(Verify, FlagsThatAgreeProveNothing) {
  const auto result = verifyFake(FakeModel(Fault::OnlyFlags));
  ASSERT_TRUE(result);
  EXPECT_EQ(result->exact, std::nullopt);
  EXPECT_NE(result->fileReason.find("nothing is proved"), std::string::npos);
}

TEST(Verify, EachModelRunsOnceForEachComparison) {
  FakeModel counting;
  int runs = 0;
  counting.onRun = [&] { ++runs; };
  ASSERT_TRUE(verifyFake(counting));
  // The twins on four sets, and one of them at four widths and two numbers of axes that it refuses; the files on two;
  // the original's 8 copies on two.
  EXPECT_EQ(runs, 8 + 4 + 2 + 2 * 2 + 2 * 8);
}

TEST(Verify, AFoldedModelThatFailsIsRefuted) {
  const auto result = verifyFake(FakeModel(Fault::FoldedFails));
  ASSERT_TRUE(result);
  EXPECT_EQ(result->exact, false);
  EXPECT_EQ(result->algebraReason, "the folded model fails where the original runs: no such op");
  EXPECT_EQ(result->fileReason, result->algebraReason);
}

TEST(Verify, AnotherOutputShapeIsRefuted) {
  const auto result = verifyFake(FakeModel(Fault::FoldedShape));
  ASSERT_TRUE(result);
  EXPECT_EQ(result->exact, false);
  EXPECT_EQ(result->fileReason, "'out_0' is float32[3,4] in one model and float32[12] in the other");
}

TEST(Verify, AModelOfOneSizeIsProvedAtThatSize) {
  const auto result = verifyFake(FakeModel(Fault::FixedSize));
  ASSERT_TRUE(result);
  EXPECT_EQ(result->exact, true);
  EXPECT_FALSE(result->secondSize);
  EXPECT_EQ(result->algebraRuns, 3);
}

TEST(Verify, OfAModelThatDoesNotRunNothingIsDecided) {
  const auto result = verifyFake(FakeModel(Fault::OriginalFails));
  ASSERT_TRUE(result);
  EXPECT_EQ(result->exact, std::nullopt);
  EXPECT_FALSE(result->algebra || result->file);
  EXPECT_EQ(result->algebraReason, "the float64 copy does not run: this model does not run");
  EXPECT_EQ(result->fileReason, "the model does not run on these inputs: this model does not run");
}

TEST(Verify, AFloat64FileIsJudgedByTheLimitOfTheAlgebra) {
  const auto right = verifyFake(FakeModel(Fault::BarelyOff, graph::DType::Float64));
  ASSERT_TRUE(right);
  EXPECT_EQ(right->exact, true);
  EXPECT_GT(right->file->maxRel, 6 * right->noiseFloor);
  EXPECT_LE(right->file->maxRel, right->fileLimit);
  const auto wrong = verifyFake(FakeModel(Fault::SlightlyOff, graph::DType::Float64));
  ASSERT_TRUE(wrong);
  EXPECT_EQ(wrong->exact, false);
}

TEST(Verify, NothingIsDecidedForWantOfMemory) {
  FakeModel counting;
  int runs = 0;
  counting.onRun = [&] { ++runs; };
  ASSERT_TRUE(verifyFake(counting));
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
        EXPECT_TRUE(result->algebra && result->file) << failAt;
      } else {
        EXPECT_EQ(result.error().code, ErrorCode::RunFailed) << failAt;
        EXPECT_EQ(result.error().message,
                  "it could not be decided whether anything changes: there is not enough memory");
      }
      EXPECT_FALSE(result && again) << failAt;
    }
  }
}

TEST(Verify, StopsAtEveryRunWhenCancelled) {
  FakeModel counting;
  int runs = 0;
  counting.onRun = [&] { ++runs; };
  ASSERT_TRUE(verifyFake(counting));
  const int all = runs;
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

}  // namespace
}  // namespace normlens::run
