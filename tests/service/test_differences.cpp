// The open model against its fold, in every type, on the bundled models.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "tests/service/demo_service.h"
#include "tests/support/must.h"

namespace normlens::service {
namespace {

class DifferencesOfDemos : public testing::Test {
 protected:
  void foldWith(const char* model, Policy policy) {
    service_.analyzed(model);
    service_.folded(policy);
  }
  protocol::DiffResult diff(const std::string& dtype, int batches = 1) {
    protocol::DiffParams params;
    params.dtype = dtype;
    params.batches = batches;
    return must(service_.diff(params, Task{}));
  }
  static const protocol::DiffRow& output(const protocol::DiffResult& result) {
    return *std::ranges::find(result.rows, SiteKind::Output, &protocol::DiffRow::kind);
  }

  DemoService service_;
};

TEST_F(DifferencesOfDemos, AnExactFoldDiffersByTheRoundingOfEachType) {
  foldWith("gpt2.pt", Policy::Balanced);
  const std::pair<const char*, double> types[] = {
      {"float64", 1e-13}, {"float32", 1e-5}, {"float16", 0.1}, {"bfloat16", 0.5}};
  double before = 0;
  for (const auto& [dtype, most] : types) {
    const auto result = diff(dtype);
    EXPECT_EQ(result.dtype, dtype);
    EXPECT_EQ(result.error, "");
    EXPECT_EQ(result.norms_reason, "");
    ASSERT_FALSE(result.rows.empty());
    const double error = output(result).max_rel;
    EXPECT_LT(error, most) << dtype;
    EXPECT_GT(error, before) << dtype;
    before = error;
    EXPECT_TRUE(output(result).top1);
    ASSERT_TRUE(output(result).rounding) << dtype;
    EXPECT_LE(error, 6 * *output(result).rounding) << dtype;
    EXPECT_EQ(std::ranges::count(result.rows, SiteKind::NormOutput, &protocol::DiffRow::kind), 9);
    EXPECT_EQ(std::ranges::count(result.rows, SiteKind::NormInput, &protocol::DiffRow::kind), 9);
  }
}

// Its weights were rounded to float32.
TEST_F(DifferencesOfDemos, AFileOfTheFoldIsAtItsFloorInFloat64) {
  foldWith("gpt2.pt", Policy::Balanced);
  const std::filesystem::path file = std::filesystem::path(testing::TempDir()) / "differences_folded.pt";
  protocol::ExportParams written;
  written.path = file;
  written.force = true;
  ASSERT_TRUE(service_.exportTo(written, Task{}));
  protocol::DiffParams params;
  params.against = file;
  params.dtype = "float64";
  const auto result = service_.diff(params, Task{});
  std::filesystem::remove(file);
  ASSERT_TRUE(result) << result.error().message;
  ASSERT_TRUE(output(*result).rounding);
  EXPECT_GT(output(*result).max_rel, 1e-10);
  EXPECT_LE(output(*result).max_rel, 6 * *output(*result).rounding);
}

TEST_F(DifferencesOfDemos, WhatThePaperPromisesAndGammaBreaksIsSeenInFloat64) {
  foldWith("bert.pt", Policy::Paper);
  const auto result = diff("float64");
  EXPECT_GT(output(result).max_rel, 1e-3);
  EXPECT_LT(6 * *output(result).rounding, 1e-10);
  EXPECT_NE(result.first_diverging, "");
}

TEST_F(DifferencesOfDemos, TheTensorsOfARowAreThoseThatWereMeasured) {
  foldWith("gpt2.pt", Policy::Balanced);
  const auto result = diff("float32", 2);
  for (const SiteKind kind : {SiteKind::NormInput, SiteKind::NormOutput, SiteKind::Output}) {
    const auto& row = *std::ranges::find(result.rows, kind, &protocol::DiffRow::kind);
    protocol::TensorPairParams params;
    params.dtype = "float32";
    params.kind = row.kind;
    params.value = row.value;
    params.output = row.output;
    params.batch = row.batch;
    const auto pair = must(service_.tensorPair(params, Task{}));
    EXPECT_DOUBLE_EQ(pair.most, row.max_abs) << nameOf(kind);
    EXPECT_EQ(pair.aligned, row.aligned);
    EXPECT_EQ(pair.a.size(), static_cast<size_t>(pair.heat_rows * pair.heat_columns));
    params.tile = {0, 2, 0, 3};
    const auto piece = must(service_.tensorPair(params, Task{}));
    EXPECT_EQ(piece.difference.size(), 6U);
    EXPECT_EQ(piece.rows, pair.rows);
  }
}

TEST_F(DifferencesOfDemos, AFileIsComparedWithoutAFold) {
  service_.analyzed("gpt2.pt");
  protocol::DiffParams params;
  EXPECT_FALSE(service_.diff(params, Task{})) << "nothing has been folded";
  params.against = (kDemos / "gpt2.pt").string();
  const auto same = must(service_.diff(params, Task{}));
  EXPECT_EQ(output(same).max_abs, 0);
  params.against = (kDemos / "vit.pt").string();
  const auto other = must(service_.diff(params, Task{}));
  EXPECT_NE(other.error, "") << "it takes other inputs";
  params.against = "/no/such/model.pt";
  EXPECT_FALSE(service_.diff(params, Task{}));
  params.against.clear();
  params.dtype = "int8";
  EXPECT_FALSE(service_.diff(params, Task{}));
}

}  // namespace
}  // namespace normlens::service
