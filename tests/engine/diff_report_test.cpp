#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "app/engine/verbs/diff_report.h"

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

json outputOf(const run::ModelDiff& diff) { return diffReport({{"float32", "", diff}}, 1)["outputs"][0]; }

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
  EXPECT_EQ(outputOf(diff)["max_abs"], "inf");
  EXPECT_EQ(outputOf(diff)["cosine"], "nan");
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
  EXPECT_EQ(outputOf(diff)["worst"]["index"], json::array({1, 1}));
  EXPECT_EQ(outputOf(diff)["worst"]["a"], 0.5);
  diff.rows[2].dtype = graph::DType::Complex64;  // places count real and imaginary parts
  diff.rows[2].diff.worst = 11;
  EXPECT_EQ(outputOf(diff)["worst"]["index"], json::array({1, 2}));
}

TEST(DiffReport, HistogramsEndWithTheirLastCount) {
  run::ModelDiff diff = someDiff();
  diff.rows[2].ulps.emplace();
  diff.rows[2].ulps->counts[0] = 5;
  diff.rows[2].ulps->counts[3] = 1;
  diff.rows[2].ulps->most = 4;
  EXPECT_EQ(outputOf(diff)["ulp"], json({{"max", 4}, {"histogram", {5, 0, 0, 1}}}));
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
  EXPECT_NE(lines[1].find("2e-7"), std::string::npos) << lines[1];
}

run::DiffRow output(const char* name, double maxRel, graph::Shape shape = {2, 3}) {
  run::DiffRow made = row(SiteKind::Output, name, maxRel);
  made.shape = std::move(shape);
  return made;
}

run::DiffRow vacuous(const char* name) {
  run::DiffRow made = output(name, 0);
  made.diff.vacuous = true;
  return made;
}

std::vector<DiffColumn> columnOf(std::vector<run::DiffRow> rows) {
  run::ModelDiff diff;
  diff.rows = std::move(rows);
  return {{"float32", "", std::move(diff)}};
}

TEST(DiffGate, PassesUpToTheLimit) {
  EXPECT_EQ(whyAbove(columnOf({output("out_0", 1e-7), output("out_1", 0)}), 1e-7), "");
  EXPECT_EQ(whyAbove(columnOf({output("out_0", 1e-7), output("out_1", 2e-7)}), 1e-7),
            "the outputs differ by more than --fail-above");
  EXPECT_NE(whyAbove(columnOf({output("out_0", std::nan(""))}), 1), "");
}

TEST(DiffGate, FailsWhereNothingOfAnOutputIsANumber) {
  const std::string why = whyAbove(columnOf({output("out_0", 0), vacuous("logits")}), 1);
  EXPECT_NE(why.find("not finite anywhere"), std::string::npos) << why;
  EXPECT_NE(why.find("logits"), std::string::npos) << why;
  EXPECT_EQ(why.find("out_0"), std::string::npos) << why;
}

TEST(DiffGate, AnEmptyOutputIsEqualBesideOthersAndNothingComparedIsNotEqual) {
  EXPECT_EQ(whyAbove(columnOf({output("boxes", 0, {0, 4}), output("scores", 0)}), 0), "");
  EXPECT_NE(whyAbove(columnOf({output("boxes", 0, {0, 4})}), 0), "");
  EXPECT_NE(whyAbove(columnOf({}), 0), "");
  EXPECT_NE(whyAbove({{"float16", "", fail(ErrorCode::Unsupported, "no")}}, 1), "");
}

TEST(DiffGate, OnlyOutputsCount) {
  auto norm = vacuous("ln");
  norm.kind = SiteKind::NormOutput;
  EXPECT_EQ(whyAbove(columnOf({norm, output("out_0", 0)}), 0), "");
}

}  // namespace
}  // namespace normlens::engine
