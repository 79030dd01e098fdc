#include "app/engine/verbs/probe/probe_report.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace normlens::engine {
namespace {

using nlohmann::json;

protocol::ProbeRow row(const char* name, protocol::ProbedKind kind) {
  protocol::ProbeRow made;
  made.name = made.title = name;
  made.kind = kind;
  made.norm = kind == protocol::ProbedKind::LayerNorm ? 0 : -1;
  made.width = 64;
  made.input = {.angle_deg = 85.5, .angle_std = 1.25, .norm = 12, .norm_std = 1, .mean_share = 0.006, .rows = 32};
  made.output = {.angle_deg = 90, .norm = 8, .rows = 32};
  made.random = {90.5, 7, 7.16};
  if (kind == protocol::ProbedKind::LayerNorm) made.swap = {0.2, 0.1};
  return made;
}

ProbeOutcome someOutcome() {
  ProbeOutcome outcome;
  outcome.seed = 17;
  outcome.before.dtype = "float32";
  outcome.before.rows = {row("ln", protocol::ProbedKind::LayerNorm), row("rms", protocol::ProbedKind::RmsNorm)};
  outcome.before.findings = {"what is said of angles"};
  protocol::ProbeSwap swap;
  swap.as_it_is.max_rel = 0.02;
  swap.as_it_is.limit = 1e-6;
  swap.notices = protocol::Notices::Hardly;
  outcome.swaps.swaps = {swap};
  outcome.swaps.findings = {"what is said of swaps"};
  return outcome;
}

TEST(ProbeReport, HasTheFieldsOfTheContract) {
  const json report = probeReport(someOutcome());
  ASSERT_EQ(report["norms"].size(), 2U);
  for (const json& norm : report["norms"]) {
    for (const char* field : {"name", "kind", "input", "output", "random"}) EXPECT_TRUE(norm.contains(field)) << field;
    for (const char* side : {"input", "output"}) {
      for (const char* field : {"angle_deg", "angle_std", "norm", "mean_share"})
        EXPECT_TRUE(norm[side][field].is_number()) << field;
    }
    EXPECT_EQ(norm["random"]["angle_deg"], 90.5);
    EXPECT_TRUE(norm["after"].is_null());
  }
  const json& swap = report["norms"][0]["swap"];
  EXPECT_EQ(swap["max_rel"], 0.2);
  EXPECT_EQ(swap["outputs"]["max_rel"], 0.02);
  EXPECT_EQ(swap["notices"], "hardly");
  EXPECT_TRUE(report["norms"][1]["swap"].is_null()) << "an RMSNorm has nothing to swap";
  EXPECT_TRUE(report["all_swapped"].is_null());
}

TEST(ProbeReport, ASwapThatCouldNotBeMeasuredSaysWhy) {
  ProbeOutcome outcome = someOutcome();
  outcome.swaps.swaps[0].as_it_is.error = "no output has a finite number in this type";
  outcome.swaps.swaps[0].notices.reset();
  const json swap = probeReport(outcome)["norms"][0]["swap"];
  EXPECT_TRUE(swap["outputs"].is_null());
  EXPECT_TRUE(swap["notices"].is_null());
  EXPECT_EQ(swap["reason"], "no output has a finite number in this type");
}

// The engine makes them once, for the window as well.
TEST(ProbeReport, FindingsAreThoseOfTheEngine) {
  const ProbeOutcome outcome = someOutcome();
  EXPECT_EQ(probeReport(outcome)["findings"], json({"what is said of angles", "what is said of swaps"}));
  const auto lines = probeLines(outcome);
  ASSERT_GE(lines.size(), 2U);
  EXPECT_EQ(lines[lines.size() - 2], "what is said of angles");
  EXPECT_EQ(lines.back(), "what is said of swaps");
}

TEST(ProbeReport, ANormWithoutFiguresSaysWhy) {
  ProbeOutcome outcome = someOutcome();
  outcome.before.rows[0].reason = "these inputs do not come by it";
  outcome.before.rows[0].swap.reset();
  const json report = probeReport(outcome);
  EXPECT_TRUE(report["norms"][0]["input"].is_null());
  EXPECT_EQ(report["norms"][0]["reason"], "these inputs do not come by it");
  const auto lines = probeLines(outcome);
  EXPECT_TRUE(std::ranges::any_of(
      lines, [](const std::string& line) { return line.find("do not come by") != std::string::npos; }));
  const std::string csv = probeCsv(outcome);
  std::vector<std::ptrdiff_t> commas;
  for (size_t begin = 0, end = csv.find("\r\n"); end != std::string::npos;
       begin = end + 2, end = csv.find("\r\n", begin)) {
    commas.push_back(std::count(csv.begin() + static_cast<std::ptrdiff_t>(begin),
                                csv.begin() + static_cast<std::ptrdiff_t>(end), ','));
  }
  ASSERT_EQ(commas.size(), 3U);
  EXPECT_EQ(commas[1], commas[0]);
  EXPECT_EQ(commas[2], commas[0]);
}

TEST(ProbeReport, NoVectorIsNan) {
  ProbeOutcome outcome = someOutcome();
  outcome.before.rows[0].input.angle_deg = std::nan("");
  EXPECT_EQ(probeReport(outcome)["norms"][0]["input"]["angle_deg"], "nan");
}

TEST(ProbeReport, ADriftHasAFigureOrTheReasonWhyNot) {
  ProbeOutcome outcome = someOutcome();
  protocol::ProbeResult narrow = outcome.before;
  narrow.dtype = "float16";
  narrow.rows[0].width = 63;  // a stream without the channel of the mean
  outcome.drift = {driftOf(outcome, DriftForm::Crms, narrow)};
  narrow.rows.pop_back();
  outcome.drift.push_back(driftOf(outcome, DriftForm::Fold, narrow));
  const json report = probeReport(outcome);
  EXPECT_TRUE(report["norms"][0]["drift"][0]["mean_to_rms"].is_null());
  EXPECT_NEAR(report["norms"][1]["drift"][0]["mean_to_rms"].get<double>(), std::sqrt(0.006), 1e-12);
  EXPECT_EQ(report["norms"][1]["drift"][1]["reason"], "its norms are not those of the model one for one");
  const auto lines = probeLines(outcome);
  EXPECT_TRUE(std::ranges::any_of(
      lines, [](const std::string& line) { return line.find("fold in float16: no figures") != std::string::npos; }));
}

TEST(ProbeReport, TheFoldStandsBesideTheOriginal) {
  ProbeOutcome outcome = someOutcome();
  outcome.after = outcome.before;
  outcome.after->rows[0].kind = protocol::ProbedKind::RmsNorm;
  outcome.after->rows[0].input.angle_deg = 90;
  const json report = probeReport(outcome);
  EXPECT_EQ(report["norms"][0]["after"]["kind"], "RMSNorm");
  EXPECT_EQ(report["norms"][0]["after"]["input"]["angle_deg"], 90);
  EXPECT_NE(probeLines(outcome)[0].find("folded to"), std::string::npos);
  EXPECT_NE(probeCsv(outcome).find("after_input_angle_deg"), std::string::npos);
  outcome.after->paired = false;
  EXPECT_TRUE(probeReport(outcome)["norms"][0]["after"].is_null());
}

TEST(ProbeReport, LinesAreAligned) {
  ProbeOutcome outcome = someOutcome();
  outcome.before.rows[0].title = "größer.als.rms";
  const auto lines = probeLines(outcome);
  const auto characters = [](const std::string& line) {
    return std::ranges::count_if(line, [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; });
  };
  EXPECT_EQ(characters(lines[0]), characters(lines[1]));
  EXPECT_EQ(characters(lines[1]), characters(lines[2]));
}

}  // namespace
}  // namespace normlens::engine
