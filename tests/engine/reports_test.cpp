#include "app/engine/verbs/reports.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "app/engine/verbs/paper_reference.h"

namespace normlens::engine {
namespace {

using nlohmann::json;

std::vector<std::string> keys(const json& object) {
  std::vector<std::string> names;
  for (const auto& [name, value] : object.items()) names.push_back(name);
  return names;
}

void expectKeys(const json& object, std::initializer_list<const char*> wanted) {
  for (const char* key : wanted) EXPECT_TRUE(object.contains(key)) << key << " is missing in " << object.dump();
}

TEST(AnalyzeReport, HasTheFieldsOfTheContract) {
  protocol::ModelInfo model;
  model.format = "torchscript";
  for (const NodeClass role : {NodeClass::Input, NodeClass::Linear, NodeClass::LayerNorm, NodeClass::Output})
    model.graph.nodes.emplace_back().role = role;
  protocol::Analysis analysis;
  analysis.norms.emplace_back().verdict = Verdict::Free;
  analysis.other_norms.push_back(
      {"norm", "GroupNorm", 3, NormForm::Op, Verdict::Blocked, "it takes its mean over space", {}, {}});
  protocol::PlanInfo plan;
  plan.policy = Policy::Balanced;
  plan.edits.emplace_back().text = "center add at run time";
  plan.norms.push_back(
      {0, NormOutcome::FoldedWithCentering, "a copy of w would add 131 kB (13%, limit 10%)", {0}, true, {}});
  plan.norms[0].ways.push_back({protocol::WayKind::Copy, 4, "a copy of w", 131072, 13, 0, false});
  const json report = analyzeReport(model, analysis, plan);
  EXPECT_EQ(report["format"], "torchscript");
  EXPECT_EQ(report["nodes"], 2);  // inputs and outputs are no operations
  expectKeys(report["layer_norms"][0],
             {"name", "index", "form", "scope", "normalized_shape", "verdict", "reason", "edits", "centerings", "paper",
              "paper_practical", "paper_strict", "state", "because", "rests_on", "ways"});
  EXPECT_EQ(report["layer_norms"][0]["state"], "folded_with_centering");
  EXPECT_EQ(report["layer_norms"][0]["rests_on"], json({"center add at run time"}));
  EXPECT_EQ(report["layer_norms"][0]["ways"][0]["bytes_grown"], 131072);
  EXPECT_EQ(report["plan"]["policy"], "balanced");
  EXPECT_EQ(stateText(plan.norms[0], true),
            "folded with a centering because a copy of w would add 131 kB (13%, limit 10%)");
  FoldOutcome outcome;
  outcome.fold.plan = plan;
  const json norm = foldReport(analysis, outcome)["norms"][0];
  EXPECT_EQ(norm["verdict"], "free");
  EXPECT_EQ(norm["state"], "folded_with_centering");
  EXPECT_EQ(report["other_norms"][0], json({{"name", "norm"},
                                            {"kind", "GroupNorm"},
                                            {"form", "op"},
                                            {"verdict", "blocked"},
                                            {"reason", "it takes its mean over space"},
                                            {"weightless", nullptr},
                                            {"weightless_reason", ""}}));
  EXPECT_EQ(keys(report["totals"]),
            (std::vector<std::string>{"blocked", "free", "layer_norms", "paper", "paper_practical", "paper_strict",
                                      "unknown", "with_centering"}));
}

TEST(FoldReport, HasTheFieldsOfTheContract) {
  FoldOutcome outcome;
  outcome.fold.plan.folded = {0, 2};
  outcome.output = "out.pt";
  protocol::VerifyResult verify;
  verify.algebra_done = verify.file_done = true;
  verify.file_dtype = "float32";
  verify.exact = true;
  outcome.fold.verify = verify;
  const json report = foldReport({}, outcome);
  expectKeys(report, {"layer_norms", "folded", "centerings", "tensors_centered", "bytes_centered", "shifts_absorbed",
                      "bytes_grown", "output", "reason", "load_ms", "fold_ms", "save_ms", "verify"});
  EXPECT_EQ(report["folded"], 2);
  EXPECT_EQ(report["output"], "out.pt");
  EXPECT_EQ(keys(report["verify"]["algebra"]), (std::vector<std::string>{"max_abs", "max_rel"}));
  EXPECT_EQ(keys(report["verify"]["file"]),
            (std::vector<std::string>{"beyond_rounding", "dtype", "floor", "max_abs", "max_rel", "noise_floor"}));
  EXPECT_EQ(report["verify"]["file"]["floor"], "roundings");
  EXPECT_EQ(report["verify"]["exact"], true);
}

TEST(FoldReport, ReportsALimitThatNoiseLiftedAndBothErrors) {
  FoldOutcome outcome;
  protocol::VerifyResult verify;
  verify.algebra_done = verify.file_done = verify.sample_only = true;
  verify.algebra = {1e-8, 1e-9, 6e-9};
  verify.file_dtype = "float64";
  verify.file = {1e-8, 1e-9, 2e-9};
  verify.errors = {2e-4, 3e-7};
  outcome.fold.verify = verify;
  const json report = foldReport({}, outcome)["verify"];
  EXPECT_EQ(report["algebra"]["limit"], 6e-9);
  EXPECT_EQ(report["algebra"]["sample_only"], true);
  EXPECT_EQ(report["file"]["limit"], 2e-9);
  EXPECT_EQ(report["file"]["errors"], json({{"original", 2e-4}, {"folded", 3e-7}}));
}

TEST(VerifyText, BothErrorsAreReportedWhereTheyAreKnown) {
  protocol::VerifyResult verify;
  verify.algebra_done = verify.file_done = true;
  verify.exact = true;
  verify.file_dtype = "float32";
  verify.file.max_rel = 9e-7;
  verify.file.limit = 2.9e-6;
  verify.floor = ErrorFloor::Original;
  const std::string start =
      "  Exact in float64 and float32: differences float64 0, float32 9e-7, allowed 3e-6 = 6 × the original's own "
      "error\n";
  for (const bool known : {false, true}) {
    if (known) verify.errors = {4e-7, 8e-7};
    Console console({});
    testing::internal::CaptureStdout();
    printVerify(verify, console);
    EXPECT_EQ(testing::internal::GetCapturedStdout(),
              start + (known ? "  Against exact numbers, the original is off by 4e-7 and the fold by 8e-7.\n" : ""));
  }
}

TEST(FoldReport, WhatWasNotDoneIsNull) {
  FoldOutcome outcome;
  EXPECT_TRUE(foldReport({}, outcome)["output"].is_null());
  EXPECT_TRUE(foldReport({}, outcome)["verify"].is_null());
  protocol::VerifyResult verify;
  verify.algebra_reason = "the model is quantised";
  outcome.fold.verify = verify;
  const json report = foldReport({}, outcome)["verify"];
  EXPECT_EQ(report["algebra"], json({{"reason", "the model is quantised"}}));
  EXPECT_TRUE(report["exact"].is_null());
}

protocol::BenchPoint point(int64_t batch, double low, double high) {
  protocol::BenchPoint made;
  made.at = {{"batch", std::to_string(batch)}};
  made.device = "cpu";
  made.dtype = "float32";
  made.a.latency.median_ms = 2;
  made.a.runtime = "LibTorch 2.15.0";
  made.b.emplace().runtime = "ONNX Runtime 1.31.0";
  made.rounds = {{2, 1.8}};
  made.speedup = (low + high) / 2;
  made.ci_low = low;
  made.ci_high = high;
  made.noise = low <= 1 && high >= 1;
  made.complete = true;
  return made;
}

json reportOf(std::vector<protocol::BenchPoint> points, bool sweep) {
  protocol::BenchResult result;
  result.points = std::move(points);
  protocol::InputSpec input;
  input.name = "ids";
  input.shape = {4, 64};
  return benchReport(result, {input}, sweep, "normlens bench a.pt");
}

TEST(BenchReport, OnePointWithoutASweep) {
  protocol::BenchPoint alone = point(4, 1.1, 1.3);
  alone.at.clear();
  alone.fold_ms = 30;
  alone.break_even = 150;
  const json report = reportOf({alone}, false);
  expectKeys(report,
             {"device", "dtype", "a", "b", "speedup", "break_even", "points", "machine", "command", "versions"});
  expectKeys(report["a"], {"median_ms", "mean_ms", "p5_ms", "p95_ms", "p99_ms", "peak_bytes", "throughput"});
  EXPECT_EQ(report["speedup"]["ci95"], json::array({1.1, 1.3}));
  EXPECT_EQ(report["break_even"], 150);
  EXPECT_EQ(report["mixed"], true);
  EXPECT_EQ(report["complete"], true);
  EXPECT_EQ(report["command"], "normlens bench a.pt");
  EXPECT_EQ(report["inputs"][0]["name"], "ids");
  EXPECT_EQ(report["inputs"][0]["shape"], json({4, 64}));
  EXPECT_TRUE(report["points"].empty());
  alone.b.reset();
  EXPECT_TRUE(reportOf({alone}, false)["b"].is_null());
}

TEST(BenchReport, TheBreakEvenSizeIsTheFirstBeyondDoubt) {
  const json report = reportOf({point(1, 0.9, 1.2), point(2, 1.05, 1.2), point(4, 1.1, 1.2)}, true);
  EXPECT_EQ(report["break_even_size"], 2);
  EXPECT_TRUE(report["break_even"].is_null());
  EXPECT_EQ(report["points"].size(), 3U);
  EXPECT_EQ(report["points"][2]["sizes"]["batch"], 4);
  EXPECT_TRUE(reportOf({point(1, 0.9, 1.2)}, true)["break_even_size"].is_null());
}

TEST(BenchReport, ThePapersFiguresStandBesideSizesThatTheyHave) {
  protocol::BenchPoint known = point(4, 1.1, 1.2);
  known.at = {{"seq", "16384"}};
  known.fold_ms = 30;
  protocol::BenchPoint unknown = known;
  unknown.at = {{"seq", "65"}};
  const json report = reportOf({known, unknown}, true);
  const json& papers = report["points"][0]["papers"];
  const auto gpt2 = std::ranges::find(papers, "GPT-2", [](const json& entry) { return entry["model"]; });
  ASSERT_NE(gpt2, papers.end());
  EXPECT_EQ((*gpt2)["device"], "A100-40GB");
  EXPECT_EQ((*gpt2)["source"], "paper 001, tables 18 and 19");
  EXPECT_EQ((*gpt2)["batch"], 4);
  EXPECT_DOUBLE_EQ((*gpt2)["speedup"].get<double>(), 1 / (1 - 0.2147));
  EXPECT_FALSE(report["points"][1].contains("papers"));
  EXPECT_EQ(report["papers_folds"].size(), 10U);
  EXPECT_EQ(report["papers_tables"]["shares"].size(), 5U);
  EXPECT_NE(paperFoldText().find("LayerNorm 7.3 to 11.7% of the time, where 4.5 to 7.0% less is expected"),
            std::string::npos);
  EXPECT_NE(paperFoldText().find("folds over batch and length vary by 2.4%"), std::string::npos);
  EXPECT_NE(paperSpeedupText(papers).find("GPT-2 1.273 (A100-40GB, batch 4)"), std::string::npos);
  EXPECT_EQ(paperFoldText().find("folds of 35 to 178 ms paid for after 36 to 328 runs (A100-40GB, "), 0U);
}

TEST(BenchReport, ThePapersOwnBatchIsTheSweeps) {
  protocol::BenchPoint both = point(4, 1.1, 1.2);
  both.at = {{"batch", "8"}, {"seq", "64"}};
  const json papers = paperSpeedups(both);
  ASSERT_EQ(papers.size(), 1U);  // GPT-J at 8; all else at 4 or 16
  EXPECT_EQ(papers[0]["model"], "GPT-J-6B");
  both.b.reset();
  EXPECT_TRUE(paperSpeedups(both).empty());
}

// Paper 001's table 6: its own 24 times give its own margins.
TEST(BenchReport, TheSpreadOfFoldTimesIsThatOfTableSix) {
  const json table = paperTables()["spread"][0];
  std::vector<protocol::BenchPoint> points;
  for (size_t b = 0; b < table["batch"].size(); ++b) {
    for (size_t s = 0; s < table["seq"].size(); ++s) {
      points.push_back(point(1, 1.1, 1.2));
      points.back().at = {{"batch", table["batch"][b].dump()}, {"seq", table["seq"][s].dump()}};
      points.back().fold_ms = table["fold_ms"][b][s].get<double>();
    }
  }
  const json times = reportOf(points, true)["fold_times"];
  // The times are printed to a tenth.
  const auto expectSame = [](const json& ours, const json& papers) {
    EXPECT_NEAR(ours["mean_ms"].get<double>(), papers[0].get<double>(), 0.1);
    EXPECT_NEAR(ours["deviation_ms"].get<double>(), papers[1].get<double>(), 0.06);
    EXPECT_NEAR(ours["cv_percent"].get<double>(), papers[2].get<double>(), 0.06);
  };
  expectSame(times["all"], table["all"]);
  EXPECT_EQ(times["all"]["points"], 24);
  for (size_t b = 0; b < table["batch"].size(); ++b)
    expectSame(times["batch"][table["batch"][b].dump()], table["by_batch"][b]);
  for (size_t s = 0; s < table["seq"].size(); ++s) expectSame(times["seq"][table["seq"][s].dump()], table["by_seq"][s]);
  for (auto& each : points) each.fold_ms = 30;
  EXPECT_TRUE(reportOf(points, true)["fold_times"]["all"].is_null());  // one fold was timed
}

TEST(BenchReport, APointThatFailedSaysWhy) {
  protocol::BenchPoint failed;
  failed.at = {{"dtype", "bfloat16"}};
  failed.error = "no kernel for bfloat16";
  const json report = reportOf({failed, point(2, 1.05, 1.2)}, true);
  EXPECT_EQ(report["points"][0]["error"], "no kernel for bfloat16");
  EXPECT_EQ(report["points"][0]["sizes"]["dtype"], "bfloat16");
  EXPECT_TRUE(report["points"][0]["a"].is_null());
  EXPECT_FALSE(report.contains("error"));  // what was measured stands on top
  EXPECT_EQ(report["a"]["median_ms"], 2);
}

}  // namespace
}  // namespace normlens::engine
