#include "core/run/compare/compare_models.h"

#include <gtest/gtest.h>

#include "tests/support/fake_model.h"
#include "tests/support/must.h"

namespace normlens::run {
namespace {

using graph::DType;
using test::Fault;

const DiffRow* rowOf(const ModelDiff& diff, SiteKind kind) {
  const auto found = std::ranges::find(diff.rows, kind, &DiffRow::kind);
  return found == diff.rows.end() ? nullptr : &*found;
}

struct Folded {
  explicit Folded(Fault fault = Fault::None) : original(fault) {
    folded = std::move(*original.apply({}, test::FakeModel::norms(), formats::NormFlavour::Portable, {}));
  }
  [[nodiscard]] Result<ModelDiff> diff(int batches = 1, const DiffOptions& options = {}) const {
    return diffModels(original, test::FakeModel::norms(), *folded, *batchesLike(test::FakeModel::sample(), batches, 1),
                      options, {});
  }
  test::FakeModel original;
  std::unique_ptr<formats::Model> folded;
};

TEST(CompareModels, ListsInputsAndOutputsOfNormsAndOutputs) {
  for (const auto& [fault, name] : {std::pair{Fault::None, ""}, {Fault::NotCentered, "ln"}}) {
    const auto diff = must(Folded(fault).diff());
    ASSERT_TRUE(rowOf(diff, SiteKind::Output));
    ASSERT_TRUE(rowOf(diff, SiteKind::NormOutput));
    ASSERT_TRUE(rowOf(diff, SiteKind::NormInput));
    EXPECT_EQ(diff.rows.back().kind, SiteKind::Output) << "outputs come last";
    EXPECT_EQ(diff.firstDiverging, name);
    EXPECT_EQ(rowOf(diff, SiteKind::NormInput)->depth, 1);
    EXPECT_EQ(rowOf(diff, SiteKind::NormOutput)->depth, 2);
    EXPECT_TRUE(rowOf(diff, SiteKind::Output)->ulps);
    EXPECT_TRUE(rowOf(diff, SiteKind::Output)->top);
  }
}

TEST(CompareModels, TheDeviceOfTheOptionsIsTheOneThatRuns) {
  Folded models;
  DiffOptions onGpu;
  onGpu.settings.device = formats::Device::Cuda;
  const Error refused = failureOf(models.diff(1, onGpu));
  EXPECT_EQ(refused.code, ErrorCode::Unsupported);
  EXPECT_NE(refused.message.find("there is no GPU"), std::string::npos) << refused.message;
  auto& folded = dynamic_cast<test::FakeModel&>(*models.folded);
  models.original.hasGpu = folded.hasGpu = true;
  folded.offOnGpu = 0.5;
  const auto diff = must(models.diff(2, onGpu));
  EXPECT_EQ(diff.batches, 2);
  EXPECT_GT(rowOf(diff, SiteKind::Output)->diff.maxRel, 0.1);
  EXPECT_EQ(diff.firstDiverging, "ln") << diff.normsReason;
  EXPECT_LT(rowOf(*models.diff(), SiteKind::Output)->diff.maxRel, 1e-5) << "on the CPU";
}

TEST(CompareModels, AnyValueCanBeComparedToo) {
  const auto diff = must(Folded().diff(1, {.reference = nullptr, .values = {2}, .limit = {}}));
  const DiffRow* row = rowOf(diff, SiteKind::Value);
  ASSERT_TRUE(row);
  EXPECT_EQ(row->name, "h");
  EXPECT_EQ(row->value, 2);
}

TEST(CompareModels, OfSeveralBatchesTheWorstIsKept) {
  const Folded models(Fault::SlightlyOff);
  double worst = 0;
  int64_t rows = 0;
  const auto batches = batchesLike(test::FakeModel::sample(), 4, 1);
  ASSERT_EQ(batches->size(), 4U);
  int worstBatch = 0;
  for (size_t i = 0; i < batches->size(); ++i) {
    const auto one = diffModels(models.original, test::FakeModel::norms(), *models.folded, {(*batches)[i]}, {}, {});
    const DiffRow* row = rowOf(*one, SiteKind::Output);
    rows += row->top->rows;
    if (row->diff.maxRel <= worst) continue;
    worst = row->diff.maxRel;
    worstBatch = static_cast<int>(i);
  }
  const auto all = models.diff(4);
  EXPECT_EQ(all->batches, 4);
  EXPECT_EQ(rowOf(*all, SiteKind::Output)->diff.maxRel, worst);
  EXPECT_EQ(rowOf(*all, SiteKind::Output)->batch, worstBatch);
  EXPECT_EQ(rowOf(*all, SiteKind::Output)->top->rows, rows) << "agreement is counted over all batches";
}

TEST(CompareModels, ABatchThatComparesNothingGivesWay) {
  const Folded models;
  auto batches = *batchesLike(test::FakeModel::sample(), 2, 1);
  const double nan = std::nan("");
  batches[0][0].view = fromDoubles(DType::Float32, {3, 4}, std::vector<double>(12, nan));
  const auto diff = [&](const std::vector<formats::Tensors>& of) {
    return diffModels(models.original, test::FakeModel::norms(), models.original, of, {}, {});
  };
  EXPECT_TRUE(rowOf(*diff({batches[0]}), SiteKind::Output)->diff.vacuous);
  EXPECT_FALSE(rowOf(*diff(batches), SiteKind::Output)->diff.vacuous);
}

TEST(CompareModels, EachTypeHasItsOwnError) {
  const Folded models;
  double before = 0;
  for (const DType dtype : {DType::Float64, DType::Float32, DType::Float16, DType::BFloat16}) {
    const auto pair = must(inType(models.original, *models.folded, dtype));
    EXPECT_EQ(pair.a->facts().dtype, dtype);
    EXPECT_EQ(pair.limit, divergenceLimit(dtype == DType::Float64 ? DType::Float32 : dtype)) << "rounded in the files";
    const auto diff = diffModels(*pair.a, test::FakeModel::norms(), *pair.b, {test::FakeModel::sample()}, {}, {});
    const double error = rowOf(*diff, SiteKind::Output)->diff.maxRel;
    EXPECT_GT(error, before) << graph::dtypeName(dtype);
    before = error;
  }
}

TEST(CompareModels, WhatTheTypeAloneCosts) {
  const Folded models;
  const auto exact = models.original.toFloat64();
  const auto pair = inType(models.original, *models.folded, DType::Float16);
  const auto diff = diffModels(*pair->a, test::FakeModel::norms(), *pair->b, {test::FakeModel::sample()},
                               {.reference = exact->get(), .values = {}, .limit = {}}, {});
  const auto own =
      compareOutputs(*(*exact)->run(test::FakeModel::sample(), {}), *pair->a->run(test::FakeModel::sample(), {}));
  const DiffRow* row = rowOf(*diff, SiteKind::Output);
  ASSERT_TRUE(row->rounding);
  EXPECT_EQ(*row->rounding, own->front().maxRel);
  EXPECT_GT(*row->rounding, 1e-5);
  EXPECT_TRUE(rowOf(*diff, SiteKind::NormOutput)->rounding);
  EXPECT_FALSE(rowOf(*models.diff(), SiteKind::Output)->rounding) << "not asked for";
}

TEST(CompareModels, ATypeThatThereIsNotIsAnError) {
  const Folded models(Fault::NoFloat64);
  EXPECT_FALSE(inType(models.original, *models.folded, DType::Float64));
  EXPECT_TRUE(inType(models.original, *models.folded, DType::Float32)) << "they have it already";
  EXPECT_EQ(inType(models.original, *models.folded, DType::Unknown)->b.get(), models.folded.get());
}

TEST(CompareModels, TheTensorsOfARowAreThoseThatWereMeasured) {
  const Folded models(Fault::NotCentered);
  const auto diff = models.diff();
  for (const DiffRow& row : diff->rows) {
    const auto pair = must(tensorsAt(models.original, test::FakeModel::norms(), *models.folded,
                                     test::FakeModel::sample(), {row.output, row.kind, row.value}, {}));
    EXPECT_EQ(pair.diff.maxRel, row.diff.maxRel) << row.name;
    EXPECT_EQ(pair.alignment, row.alignment);
  }
}

TEST(CompareModels, ACancelledTaskIsNoFinding) {
  std::stop_source source;
  source.request_stop();
  const Folded models;
  EXPECT_EQ(failureOf(diffModels(models.original, test::FakeModel::norms(), *models.folded, {test::FakeModel::sample()},
                                 {}, Task{{}, source.get_token()}))
                .code,
            ErrorCode::Cancelled);
}

// A norm over the last axis; `shifted` by a mean that it does not notice.
TEST(Sites, AMeanThatANormDoesNotNoticeIsTakenOut) {
  const auto tensor = [](std::vector<double> values) { return fromDoubles(DType::Float32, {2, 3}, values); };
  Site site;
  site.kind = SiteKind::NormInput;
  site.value = 0;
  site.axes = {1};
  site.partners = {1};
  const Captured ofA{{0, tensor({1, 2, 6, -1, 0, 4})}};
  const Captured shifted{{1, tensor({-2, -1, 3, -2, -1, 3})}};
  const auto pair = must(bestPair(site, ofA, shifted));
  EXPECT_EQ(pair.alignment, Alignment::Mean);
  EXPECT_EQ(pair.diff.maxAbs, 0);

  const auto same = bestPair(site, ofA, {{1, ofA.at(0)}});
  EXPECT_EQ(same->alignment, Alignment::None);
  site.axes.clear();
  EXPECT_EQ(bestPair(site, ofA, shifted)->alignment, Alignment::None);
}

// The channels of an image: [1, 2, 1, 2].
TEST(Sites, AMeanOverChannelsIsTakenOut) {
  const auto tensor = [](std::vector<double> values) { return fromDoubles(DType::Float32, {1, 2, 1, 2}, values); };
  Site site;
  site.kind = SiteKind::NormInput;
  site.value = 0;
  site.axes = {1};
  site.partners = {1};
  const Captured ofA{{0, tensor({1, 2, 5, 8})}};
  const auto pair = must(bestPair(site, ofA, {{1, tensor({-2, -3, 2, 3})}}));
  EXPECT_EQ(pair.alignment, Alignment::Mean);
  EXPECT_EQ(pair.diff.maxAbs, 0);
  EXPECT_EQ(bestPair(site, ofA, {{1, tensor({2, 3, 4, 7})}})->alignment, Alignment::None) << "shifted along the width";
}

TEST(Sites, BetaThatMovedIsAdded) {
  const auto tensor = [](std::vector<double> values) { return fromDoubles(DType::Float32, {1, 2}, values); };
  const auto beta = fromDoubles(DType::Float32, {2}, std::vector<double>{0.5, -0.25});
  Site site;
  site.kind = SiteKind::NormOutput;
  site.value = 0;
  site.beta = beta;
  site.partners = {1};
  const auto pair = must(bestPair(site, {{0, tensor({1, 2})}}, {{1, tensor({0.5, 2.25})}}));
  EXPECT_EQ(pair.alignment, Alignment::Beta);
  EXPECT_EQ(pair.diff.maxAbs, 0);
}

}  // namespace
}  // namespace normlens::run
