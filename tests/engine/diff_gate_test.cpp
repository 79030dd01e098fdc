#include <gtest/gtest.h>

#include <cmath>

#include "app/engine/verbs/diff_report.h"

namespace normlens::engine {
namespace {

using run::SiteKind;

run::DiffRow output(const char* name, double maxRel, graph::Shape shape = {2, 3}) {
  run::DiffRow made;
  made.kind = SiteKind::Output;
  made.name = name;
  made.shape = std::move(shape);
  made.diff.maxRel = maxRel;
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

TEST(DiffGate, AnEmptyOutputIsEqualBesideOthersAndNothingByItself) {
  EXPECT_EQ(whyAbove(columnOf({output("boxes", 0, {0, 4}), output("scores", 0)}), 0), "");
  EXPECT_NE(whyAbove(columnOf({output("boxes", 0, {0, 4})}), 0), "");
  EXPECT_NE(whyAbove(columnOf({}), 0), "");
}

TEST(DiffGate, OnlyOutputsCount) {
  auto norm = vacuous("ln");
  norm.kind = SiteKind::NormOutput;
  EXPECT_EQ(whyAbove(columnOf({norm, output("out_0", 0)}), 0), "");
}

TEST(DiffGate, FailsWhereNoTypeCouldBeCompared) {
  std::vector<DiffColumn> columns{{"float16", "", fail(ErrorCode::Unsupported, "no")}};
  EXPECT_NE(whyAbove(columns, 1), "");
}

}  // namespace
}  // namespace normlens::engine
