#include "app/engine/reports.h"

#include <gtest/gtest.h>

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
  for (const char* role : {"I", "L", "N", "G"}) model.graph.nodes.emplace_back().role = role;
  protocol::Analysis analysis;
  analysis.norms.emplace_back().verdict = "free";
  analysis.other_norms.emplace_back().kind = "GroupNorm";
  const json report = analyzeReport(model, analysis);
  EXPECT_EQ(report["format"], "torchscript");
  EXPECT_EQ(report["nodes"], 2);  // inputs and outputs are no operations
  expectKeys(report["layer_norms"][0], {"name", "index", "form", "scope", "normalized_shape", "verdict", "reason",
                                        "edits", "centerings", "paper", "paper_practical", "paper_strict"});
  EXPECT_EQ(report["other_norms"][0]["kind"], "GroupNorm");
  EXPECT_EQ(keys(report["totals"]), (std::vector<std::string>{"blocked", "free", "layer_norms", "paper",
                                                              "paper_practical", "paper_strict", "with_centering"}));
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
  const json report = foldReport(outcome);
  expectKeys(report, {"layer_norms", "folded", "centerings", "tensors_centered", "bytes_centered", "shifts_absorbed",
                      "bytes_grown", "output", "reason", "load_ms", "fold_ms", "save_ms", "verify"});
  EXPECT_EQ(report["folded"], 2);
  EXPECT_EQ(report["output"], "out.pt");
  EXPECT_EQ(keys(report["verify"]["algebra"]), (std::vector<std::string>{"max_abs", "max_rel"}));
  EXPECT_EQ(keys(report["verify"]["file"]), (std::vector<std::string>{"dtype", "max_abs", "max_rel", "noise_floor"}));
  EXPECT_EQ(report["verify"]["exact"], true);
}

TEST(FoldReport, WhatWasNotDoneIsNull) {
  FoldOutcome outcome;
  EXPECT_TRUE(foldReport(outcome)["output"].is_null());
  EXPECT_TRUE(foldReport(outcome)["verify"].is_null());
  protocol::VerifyResult verify;
  verify.algebra_reason = "the model is quantised";
  outcome.fold.verify = verify;
  const json report = foldReport(outcome)["verify"];
  EXPECT_EQ(report["algebra"], json({{"reason", "the model is quantised"}}));
  EXPECT_TRUE(report["exact"].is_null());
}

BenchPoint point(int64_t batch, double low, double high) {
  BenchPoint made;
  made.sizes = {{"batch", batch}};
  made.batch = batch;
  made.report.a.medianMs = 2;
  made.report.b = run::LatencyStats{};
  made.report.speedup = {.median = (low + high) / 2, .low = low, .high = high, .noise = low <= 1 && high >= 1};
  return made;
}

TEST(BenchReport, OnePointWithoutASweep) {
  BenchPoint alone = point(4, 1.1, 1.3);
  alone.sizes = json::object();
  const json report = benchReport("CPU", "float32", {alone}, false);
  expectKeys(report, {"device", "dtype", "a", "b", "speedup", "break_even", "points"});
  expectKeys(report["a"], {"median_ms", "mean_ms", "p5_ms", "p95_ms", "p99_ms", "peak_bytes", "throughput"});
  EXPECT_EQ(report["a"]["throughput"], 2000);
  EXPECT_EQ(report["speedup"]["ci95"], json::array({1.1, 1.3}));
  EXPECT_TRUE(report["points"].empty());
  alone.report.b.reset();
  EXPECT_TRUE(benchReport("CPU", "float32", {alone}, false)["b"].is_null());
}

TEST(BenchReport, TheBreakEvenIsTheFirstSizeBeyondDoubt) {
  const json report =
      benchReport("CPU", "float32", {point(1, 0.9, 1.2), point(2, 1.05, 1.2), point(4, 1.1, 1.2)}, true);
  EXPECT_EQ(report["break_even"], 2);
  EXPECT_EQ(report["points"].size(), 3U);
  EXPECT_EQ(report["points"][2]["sizes"]["batch"], 4);
  EXPECT_TRUE(benchReport("CPU", "float32", {point(1, 0.9, 1.2)}, true)["break_even"].is_null());
}

}  // namespace
}  // namespace normlens::engine
