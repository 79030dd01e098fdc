#include "app/engine/verbs/diff_report.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

namespace normlens::engine {
namespace {

using nlohmann::json;
using run::SiteKind;

run::DiffRow row(SiteKind kind, const char* name, double maxRel) {
  run::DiffRow made;
  made.kind = kind;
  made.name = name;
  made.shape = {2, 3};
  made.dtype = graph::DType::Float32;
  made.diff.maxRel = maxRel;
  return made;
}

run::ModelDiff someDiff() {
  run::ModelDiff diff;
  diff.batches = 1;
  diff.rows = {row(SiteKind::NormInput, "ln", 1e-7), row(SiteKind::NormOutput, "ln", 2e-7),
               row(SiteKind::Output, "out_0", 3e-7)};
  return diff;
}

TEST(DiffReport, HasTheFieldsOfTheContract) {
  const json report = diffReport({{"float32", "", someDiff()}}, 7);
  for (const char* list : {"outputs", "norms", "norm_inputs"}) {
    ASSERT_EQ(report[list].size(), 1U) << list;
    for (const char* field : {"name", "max_abs", "max_rel", "mean_abs", "cosine"}) {
      EXPECT_TRUE(report[list][0].contains(field)) << field;
    }
  }
  EXPECT_TRUE(report["first_diverging"].is_null());
  EXPECT_EQ(report["seed"], 7);
  EXPECT_FALSE(report.contains("precisions")) << "one type only";
}

TEST(DiffReport, SaysInfinityAsText) {
  run::ModelDiff diff = someDiff();
  diff.rows[2].diff.maxAbs = std::numeric_limits<double>::infinity();
  diff.rows[2].diff.cosine = std::numeric_limits<double>::quiet_NaN();
  const json report = diffReport({{"float32", "", diff}}, 1);
  EXPECT_EQ(report["outputs"][0]["max_abs"], "inf");
  EXPECT_EQ(report["outputs"][0]["cosine"], "nan");
}

TEST(DiffReport, OfSeveralTypesTheRoundingIsToldToo) {
  const auto tables = [](const run::ModelDiff& diff) {
    const auto lines = diffLines({{"float64", "", someDiff()}, {"float16", "", diff}});
    return std::ranges::count_if(lines, [](const std::string& line) { return !line.starts_with(' '); });
  };
  run::ModelDiff diff = someDiff();
  EXPECT_EQ(tables(diff), 1);
  diff.rows[2].rounding = 1e-3;
  EXPECT_EQ(tables(diff), 2);
}

TEST(DiffReport, SaysWhereNothingIsFinite) {
  run::ModelDiff diff = someDiff();
  diff.rows[2].diff.vacuous = true;
  const std::vector<DiffColumn> columns{{"float32", "", diff}};
  const json report = diffReport(columns, 1);
  EXPECT_EQ(report["outputs"][0]["vacuous"], true);
  EXPECT_EQ(report["norms"][0]["vacuous"], false);
  const auto lines = diffLines(columns);
  const auto says = [](const std::string& line) { return line.find("not finite anywhere") != std::string::npos; };
  EXPECT_EQ(std::ranges::count_if(lines, says), 1);
}

TEST(DiffReport, TheWorstPlaceIsAnIndexOfTheTensor) {
  run::ModelDiff diff = someDiff();
  diff.rows[2].diff.worst = 4;
  diff.rows[2].diff.worstA = 0.5;
  const json worst = diffReport({{"float32", "", diff}}, 1)["outputs"][0]["worst"];
  EXPECT_EQ(worst["index"], json::array({1, 1}));
  EXPECT_EQ(worst["a"], 0.5);
}

// Places count real and imaginary parts.
TEST(DiffReport, TheWorstPlaceOfAComplexTensorIsThatOfItsElement) {
  run::ModelDiff diff = someDiff();
  diff.rows[2].dtype = graph::DType::Complex64;
  diff.rows[2].diff.worst = 11;
  const json worst = diffReport({{"complex64", "", diff}}, 1)["outputs"][0]["worst"];
  EXPECT_EQ(worst["index"], json::array({1, 2}));
}

TEST(DiffReport, HistogramsEndWithTheirLastCount) {
  run::ModelDiff diff = someDiff();
  diff.rows[2].ulps.emplace();
  diff.rows[2].ulps->counts[0] = 5;
  diff.rows[2].ulps->counts[3] = 1;
  diff.rows[2].ulps->most = 4;
  const json ulp = diffReport({{"float32", "", diff}}, 1)["outputs"][0]["ulp"];
  EXPECT_EQ(ulp, json({{"max", 4}, {"histogram", {5, 0, 0, 1}}}));
}

TEST(DiffReport, AColumnThatFailedSaysWhyAndTheOthersStay) {
  const Error error{ErrorCode::Unsupported, "there is no kernel for it", {}};
  const std::vector<DiffColumn> columns = {{"float16", "", tl::unexpected(error)}, {"float32", "a note", someDiff()}};
  const json report = diffReport(columns, 1);
  EXPECT_EQ(report["dtype"], "float32");
  ASSERT_EQ(report["precisions"].size(), 2U);
  EXPECT_EQ(report["precisions"][0]["error"], "there is no kernel for it");
  EXPECT_EQ(report["precisions"][1]["note"], "a note");
  const auto lines = diffLines(columns);
  ASSERT_EQ(lines.size(), 3U) << "a head, the norm, the output";
  EXPECT_NE(lines[1].find(" - "), std::string::npos) << lines[1];
  EXPECT_NE(lines[1].find("2e-07"), std::string::npos) << lines[1];
}

}  // namespace
}  // namespace normlens::engine
