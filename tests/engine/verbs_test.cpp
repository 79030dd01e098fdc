// The verbs on a bundled model, from outside: exit statuses, JSON, and what lies on the disk afterwards.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <regex>

#include "tests/engine/run_program.h"
#include "tests/support/temporary_folder.h"

namespace normlens::engine {

using nlohmann::json;
namespace fs = std::filesystem;

namespace {

const fs::path kDemos = NORMLENS_DEMO_MODELS;

class Verbs : public ::testing::Test {
 protected:
  struct Answer {
    int status;
    json object;
    std::string err;
  };
  // With --json: stdout is one object.
  static Answer ask(std::vector<std::string> arguments) {
    arguments.emplace_back("--json");
    const auto result = test::runProgram(ENGINE_PROGRAM, arguments);
    json object = json::parse(result.out, nullptr, false);
    EXPECT_TRUE(object.is_object()) << result.out << result.err;
    EXPECT_EQ(object.value("schema", 0), 1);
    return {result.status, std::move(object), result.err};
  }
  [[nodiscard]] std::string at(const std::string& name) const { return (folder_ / name).string(); }

  const std::string gpt2_ = (kDemos / "gpt2.pt").string(), bert_ = (kDemos / "bert.pt").string();
  const TemporaryFolder folder_;
};

std::string contents(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST_F(Verbs, CheckTakesAModelThroughEveryStage) {
  const Answer answer = ask({"check", gpt2_, "--graph"});
  EXPECT_EQ(answer.status, 0);
  std::vector<std::string> names;
  for (const json& stage : answer.object["stages"]) {
    names.push_back(stage["name"]);
    EXPECT_TRUE(stage["error"].is_null()) << stage;
    double inSteps = 0;
    for (const json& step : stage["steps"]) inSteps += step["ms"].get<double>();
    EXPECT_LE(inSteps, stage["ms"].get<double>() * 1.001) << stage;
  }
  EXPECT_EQ(names, (std::vector<std::string>{"open", "check", "analyze", "check", "plan", "fold"}));
  EXPECT_EQ(answer.object["stages"].back()["says"], "exact");
  EXPECT_TRUE(answer.object["graph"].get<std::string>().starts_with("graph {\n  input %"));
}

// "1e-6" and never "1e-06", in what a person reads as in the window.
TEST_F(Verbs, NumbersInSentencesHaveNoZeroInTheirExponents) {
  static const std::regex kZero("[0-9]e[-+]?0[0-9]|[0-9]e\\+");
  const std::string folded = at("folded.pt"), figure = "[0-9]e-[1-9]";
  std::string all;
  for (const auto& words : std::vector<std::vector<std::string>>{{"analyze", bert_},
                                                                 {"fold", gpt2_, "-o", folded},
                                                                 {"verify", gpt2_, folded},
                                                                 {"diff", gpt2_, folded, "--dtype", "float64,float32"},
                                                                 {"probe", gpt2_}}) {
    const auto result = test::runProgram(ENGINE_PROGRAM, words);
    std::smatch found;
    EXPECT_FALSE(std::regex_search(result.out, found, kZero)) << words.front() << ": " << found.str();
    EXPECT_FALSE(std::regex_search(result.err, found, kZero)) << words.front() << ": " << found.str();
    all += result.out;
  }
  EXPECT_TRUE(std::regex_search(all, std::regex(figure))) << "there were such figures";
}

TEST_F(Verbs, CheckTellsTheStageThatFailed) {
  std::ofstream(at("broken.pt")) << "no model";
  const Answer answer = ask({"check", at("broken.pt"), "--graph"});
  EXPECT_EQ(answer.status, 3);
  ASSERT_EQ(answer.object["stages"].size(), 1U);
  EXPECT_TRUE(answer.object["stages"][0]["error"].is_string());
  EXPECT_TRUE(answer.object["graph"].is_null());
}

TEST_F(Verbs, ProbeTellsTheGeometryOfEveryNorm) {
  const Answer answer = ask({"probe", gpt2_, "--after", "--csv", at("probe.csv")});
  EXPECT_EQ(answer.status, 0) << answer.err;
  ASSERT_EQ(answer.object["norms"].size(), 9U);
  for (const json& norm : answer.object["norms"]) {
    EXPECT_EQ(norm["kind"], "LayerNorm");
    EXPECT_EQ(norm["after"]["kind"], "RMSNorm");
    EXPECT_NEAR(norm["after"]["input"]["angle_deg"].get<double>(), 90, 1e-3);
    EXPECT_GT(norm["swap"]["outputs"]["max_rel"].get<double>(), norm["swap"]["outputs"]["limit"].get<double>());
  }
  EXPECT_GT(answer.object["all_swapped"]["max_rel"].get<double>(), 0);
  const std::string table = contents(at("probe.csv"));
  EXPECT_EQ(std::ranges::count(table, '\n'), 10);
  const Answer same = ask({"probe", gpt2_, "--seed", "18"});
  EXPECT_EQ(same.object["norms"][0]["input"], answer.object["norms"][0]["input"]);
  EXPECT_NE(same.object["norms"][0]["random"], answer.object["norms"][0]["random"]);
}

TEST_F(Verbs, ATableIsNotWrittenOverWhatIsRead) {
  fs::copy_file(gpt2_, at("model.pt"));
  const std::string before = contents(at("model.pt"));
  for (const char* table : {"model.pt", "./model.pt"}) {
    EXPECT_EQ(ask({"probe", at("model.pt"), "--csv", at(table)}).status, 2);
  }
  EXPECT_EQ(contents(at("model.pt")), before);
}

TEST_F(Verbs, ReportWritesOnePage) {
  const Answer html = ask({"report", gpt2_, "-o", at("report.html"), "--bench", "--rounds", "2"});
  EXPECT_EQ(html.status, 0) << html.err;
  EXPECT_EQ(html.object["exact"], true);
  EXPECT_EQ(html.object["folded"], html.object["layer_norms"]);
  EXPECT_EQ(html.object["measured"], true);
  const std::string page = contents(at("report.html"));
  for (const char* part : {"No output changed beyond rounding", "h.0.ln_1", "Latency", "gpt2.plan.json"}) {
    EXPECT_NE(page.find(part), std::string::npos) << part;
  }
  EXPECT_EQ(ask({"fold", gpt2_, "-o", at("folded.pt"), "--no-verify"}).status, 0);
  const Answer compared = ask({"report", gpt2_, at("folded.pt"), "-o", at("report.md")});
  EXPECT_EQ(compared.status, 0) << compared.err;
  EXPECT_EQ(compared.object["exact"], true);
  EXPECT_EQ(compared.object["folded"], html.object["folded"]);
  EXPECT_TRUE(contents(at("report.md")).starts_with("# Fold report: gpt2.pt\n"));
  EXPECT_EQ(ask({"report", gpt2_, "-o", at("report.pdf")}).status, 2);
}

// gpt2.pt calls its input ids, torch calls that ids.1.
TEST_F(Verbs, InputsHaveTheNamesThatTheirAuthorGaveThem) {
  EXPECT_EQ(ask({"analyze", gpt2_}).object["inputs"][0]["name"], "ids");
  for (const char* name : {"ids", "in_0", "ids.1"}) {
    const Answer answer = ask({"analyze", gpt2_, "--input", std::string(name) + "=int64[3,5]:0..9"});
    EXPECT_EQ(answer.status, 0) << answer.err;
    EXPECT_EQ(answer.object["inputs"][0]["name"], "ids");
    EXPECT_EQ(answer.object["inputs"][0]["shape"], json({3, 5}));
  }
  const Answer wrong = ask({"analyze", gpt2_, "--input", "tokens=int64[3,5]:0..9"});
  EXPECT_EQ(wrong.status, 3);
  EXPECT_NE(wrong.err.find("its inputs are ids"), std::string::npos) << wrong.err;
}

TEST_F(Verbs, FuseWritesWhatIsProvedToBeEqualAndFoldsNothing) {
  const Answer answer = ask({"fuse", gpt2_, "-o", at("fused.pt")});
  EXPECT_EQ(answer.status, 0) << answer.err;
  EXPECT_GT(answer.object["fused"].get<int>(), 0);
  EXPECT_LE(answer.object["fused"], answer.object["norms"]);
  EXPECT_EQ(answer.object["fused_names"].size(), answer.object["fused"]);
  EXPECT_EQ(answer.object["verify"]["exact"], true);
  EXPECT_EQ(answer.object["output"], at("fused.pt"));
  // Another engine has to find the ops that the file names.
  const Answer diff = ask({"diff", gpt2_, at("fused.pt")});
  EXPECT_EQ(diff.status, 0) << diff.err;
  EXPECT_LT(diff.object["outputs"][0]["max_rel"].get<double>(), 1e-5);
}

TEST_F(Verbs, CrmsMeasuresBesideTheOriginalAndTheFold) {
  const Answer answer = ask({"crms", gpt2_, "-o", at("narrow.pt"), "--policy", "free", "--measure"});
  ASSERT_EQ(answer.status, 0) << answer.err;
  const json& times = answer.object["times"];
  for (const char* pair : {"fold", "crms", "crms_over_fold"}) {
    for (const char* one : {"before_ms", "after_ms"}) EXPECT_GT(times[pair][one].get<double>(), 0) << pair << one;
  }
  const json& flops = answer.object["flops"];
  EXPECT_LT(flops["norms"]["fold"], flops["norms"]["original"]);
  EXPECT_LT(flops["linears"]["crms"], flops["linears"]["original"]);
  EXPECT_LT(answer.object["bytes"]["stream"]["crms"], answer.object["bytes"]["stream"]["original"]);
  EXPECT_EQ(ask({"crms", gpt2_, "-o", at("other.pt"), "--measure", "--device", "gpu"}).status, 2);
  EXPECT_FALSE(fs::exists(at("other.pt")));
}

TEST_F(Verbs, FoldWritesWhatDiffFindsEqual) {
  const Answer folded = ask({"fold", gpt2_, "-o", at("folded.pt")});
  ASSERT_EQ(folded.status, 0) << folded.err;
  EXPECT_EQ(folded.object["output"], at("folded.pt"));
  EXPECT_EQ(folded.object["folded"], folded.object["layer_norms"]);
  EXPECT_EQ(folded.object["verify"]["exact"], true);
  EXPECT_LE(folded.object["verify"]["algebra"]["max_rel"].get<double>(), 1e-10);

  const Answer same = ask({"diff", gpt2_, at("folded.pt"), "--fail-above", "1e-5"});
  EXPECT_EQ(same.status, 0) << same.err;
  EXPECT_FALSE(same.object["norms"].empty());
  EXPECT_TRUE(same.object["first_diverging"].is_null()) << same.object;
  EXPECT_EQ(ask({"diff", gpt2_, at("folded.pt"), "--fail-above", "0"}).status, 1);

  const Answer types = ask({"diff", gpt2_, at("folded.pt"), "--dtype", "float64,bfloat16", "--batches", "2"});
  EXPECT_EQ(types.status, 0) << types.err;
  ASSERT_EQ(types.object["precisions"].size(), 2U);
  EXPECT_EQ(types.object["dtype"], "float64");
  EXPECT_EQ(types.object["batches"], 2);
  EXPECT_LT(types.object["precisions"][0]["outputs"][0]["max_rel"].get<double>(),
            types.object["precisions"][1]["outputs"][0]["max_rel"].get<double>());
  EXPECT_EQ(ask({"diff", gpt2_, at("folded.pt"), "--dtype", "int8"}).status, 2);
  EXPECT_EQ(ask({"diff", gpt2_, at("folded.pt"), "--value", "no such value"}).status, 2);

  const Answer bench =
      ask({"bench", gpt2_, at("folded.pt"), "--rounds", "2", "--iterations", "1", "--sweep", "batch=1,2"});
  EXPECT_EQ(bench.status, 0) << bench.err;
  EXPECT_EQ(bench.object["points"].size(), 2U);
  EXPECT_GT(bench.object["a"]["median_ms"].get<double>(), 0);
}

TEST_F(Verbs, BenchGoesOnWhereAPointFails) {
  // Its table of positions ends before 4096.
  const Answer bench = ask({"bench", gpt2_, "--fold", "--rounds", "2", "--iterations", "1", "--sweep", "seq=4,4096"});
  ASSERT_EQ(bench.status, 0) << bench.err;
  const auto& points = bench.object["points"];
  ASSERT_EQ(points.size(), 2U);
  EXPECT_GT(points[0]["b"]["peak_bytes"].get<int64_t>(), 0);
  EXPECT_GT(points[0]["fold_ms"].get<double>(), 0);
  EXPECT_TRUE(bench.object["fold_times"]["all"].is_null());  // one point has a time
  EXPECT_GT(bench.object["init_ms"].get<double>(), 0);
  EXPECT_GT(points[0]["a"]["norm_share"].get<double>(), 0);
  EXPECT_LT(points[0]["a"]["norm_share"].get<double>(), 1);
  EXPECT_FALSE(points[1]["error"].get<std::string>().empty());
  const auto count = [&](const char* side, const char* kind) {
    const auto& work = bench.object["work"][side];
    return std::count_if(work.begin(), work.end(), [&](const auto& norm) { return norm["kind"] == kind; });
  };
  EXPECT_EQ(count("a", "LayerNorm"), static_cast<std::ptrdiff_t>(bench.object["work"]["a"].size()));
  EXPECT_EQ(count("b", "RMSNorm"), count("a", "LayerNorm"));
}

TEST_F(Verbs, BenchNamesTheModelThatDoesNotRun) {
  const auto other = (kDemos / "vit.pt").string();
  const Answer bench = ask({"bench", gpt2_, other, "--rounds", "1", "--iterations", "1"});
  EXPECT_EQ(bench.status, 3);
  EXPECT_NE(bench.object["error"]["message"].get<std::string>().find(other), std::string::npos) << bench.object;
}

TEST_F(Verbs, BenchTellsTheCommandAsAShellTakesIt) {
  ASSERT_EQ(ask({"fold", gpt2_, "-o", at("it's folded.pt"), "--no-verify"}).status, 0);
  const Answer bench = ask({"bench", at("it's folded.pt"), "--rounds", "1", "--iterations", "1", "--warmup", "0"});
  ASSERT_EQ(bench.status, 0) << bench.err;
  const auto command = bench.object["command"].get<std::string>();
  EXPECT_NE(command.find("it'\\''s folded.pt' --rounds 1"), std::string::npos) << command;
}

TEST_F(Verbs, BenchRunsInOtherTypesAndFlavours) {
  const Answer bench = ask({"bench", gpt2_, "--rounds", "1", "--iterations", "1", "--warmup", "1", "--sweep",
                            "dtype=float16,bfloat16,float64", "--sweep", "norm=portable,primitives"});
  ASSERT_EQ(bench.status, 0) << bench.err;
  ASSERT_EQ(bench.object["points"].size(), 6U);
  for (const auto& point : bench.object["points"]) {
    EXPECT_FALSE(point.contains("error")) << point;
    EXPECT_EQ(point["sizes"]["dtype"], point["dtype"]);
    EXPECT_EQ(point["sizes"]["norm"], point["norm"]);
  }
}

TEST_F(Verbs, NothingToFoldLeavesAnOlderOutputAlone) {
  ASSERT_EQ(ask({"fold", gpt2_, "-o", at("folded.pt"), "--no-verify", "--policy", "all"}).status, 0);
  std::ofstream(at("older.pt")) << "precious";
  const Answer again = ask({"fold", at("folded.pt"), "-o", at("older.pt"), "--save-plan", at("plan.json")});
  EXPECT_EQ(again.status, 0);
  EXPECT_TRUE(again.object["output"].is_null());
  EXPECT_TRUE(again.object["verify"].is_null());
  EXPECT_EQ(again.object["folded"], 0);
  EXPECT_NE(again.err.find("nothing was written"), std::string::npos) << again.err;
  EXPECT_EQ(contents(at("older.pt")), "precious");
  EXPECT_FALSE(fs::exists(at("plan.json")));
}

TEST_F(Verbs, WhatIsMeasuredIsToldOfAModelWithoutLayerNormsToo) {
  ASSERT_EQ(ask({"fold", gpt2_, "-o", at("folded.pt"), "--no-verify", "--policy", "all"}).status, 0);
  const Answer bench = ask({"bench", at("folded.pt"), "--rounds", "1", "--iterations", "1", "--warmup", "0"});
  EXPECT_EQ(bench.status, 0) << bench.err;
  EXPECT_EQ(bench.object["inputs"][0]["name"], "ids");
  for (const Answer& told : {bench, ask({"diff", at("folded.pt"), gpt2_})}) {
    EXPECT_NE(told.err.find("input ids assumed: "), std::string::npos) << told.err;
  }
  EXPECT_EQ(ask({"analyze", at("folded.pt")}).err.find("assumed"), std::string::npos);
}

TEST_F(Verbs, ARefutedFoldWritesOnlyWhenForced) {
  // The papers' criterion takes post-LN streams with gamma and beta for zero-mean.
  std::ofstream(at("out.pt")) << "precious";
  const Answer refuted = ask({"fold", bert_, "-o", at("out.pt"), "--policy", "paper"});
  EXPECT_EQ(refuted.status, 1);
  EXPECT_TRUE(refuted.object["output"].is_null());
  EXPECT_EQ(refuted.object["verify"]["exact"], false);
  EXPECT_FALSE(refuted.object["reason"].get<std::string>().empty());
  EXPECT_FALSE(refuted.object["verify"]["first_diverging"].get<std::string>().empty());
  EXPECT_EQ(contents(at("out.pt")), "precious");

  const Answer forced = ask({"fold", bert_, "-o", at("out.pt"), "--policy", "paper", "--force"});
  EXPECT_EQ(forced.status, 0);
  EXPECT_EQ(forced.object["verify"]["exact"], false);
  EXPECT_GT(fs::file_size(at("out.pt")), 1000U);
}

TEST_F(Verbs, ASavedPlanGivesTheSameFile) {
  ASSERT_EQ(ask({"fold", gpt2_, "-o", at("a.pt"), "--no-verify", "--save-plan", at("plan.json")}).status, 0);
  ASSERT_EQ(ask({"fold", gpt2_, "-o", at("b.pt"), "--no-verify", "--plan", at("plan.json")}).status, 0);
  EXPECT_EQ(contents(at("a.pt")), contents(at("b.pt")));
  const Answer other = ask({"fold", bert_, "-o", at("c.pt"), "--plan", at("plan.json")});
  EXPECT_EQ(other.status, 3);
  EXPECT_FALSE(fs::exists(at("c.pt")));
}

TEST_F(Verbs, APlanIsUsedAtOtherInputSizes) {
  ASSERT_EQ(ask({"fold", gpt2_, "-o", at("a.pt"), "--no-verify", "--save-plan", at("plan.json")}).status, 0);
  const Answer other =
      ask({"fold", gpt2_, "-o", at("b.pt"), "--plan", at("plan.json"), "--input", "in_0=int64[3,5]:0..99"});
  EXPECT_EQ(other.status, 0) << other.err;
  EXPECT_GT(other.object["centerings"], 0);
  EXPECT_EQ(other.object["verify"]["exact"], true);
}

TEST_F(Verbs, BenchComparesTheOutputsOfBoth) {
  const Answer same = ask({"bench", gpt2_, gpt2_, "--rounds", "1", "--iterations", "1", "--warmup", "0"});
  EXPECT_EQ(same.status, 0) << same.err;
  EXPECT_EQ(same.object["outputs"]["max_rel"], 0);
  EXPECT_GT(same.object["outputs"]["noise_floor"], 0);
  EXPECT_EQ(same.object["outputs"]["beyond"], false);
  EXPECT_EQ(same.object["work"]["a"], same.object["work"]["b"]);
  const auto other = test::runProgram(ENGINE_PROGRAM, {"bench", gpt2_, bert_, "--rounds", "1", "--iterations", "1",
                                                       "--warmup", "0", "--input", "in_0=int64[2,9]:0..20"});
  EXPECT_EQ(other.status, 0) << other.err;
  EXPECT_NE(other.out.find("The outputs could not be compared: "), std::string::npos) << other.out;
}

TEST_F(Verbs, DiffRunsOnTheDeviceThatIsNamed) {
  EXPECT_EQ(ask({"diff", gpt2_, gpt2_, "--device", "cpu"}).status, 0);
  EXPECT_EQ(ask({"diff", gpt2_, gpt2_, "--device", "gpu"}).status, 2);
  const Answer onGpu = ask({"diff", gpt2_, gpt2_, "--device", "cuda:99"});
  EXPECT_EQ(onGpu.status, ask({"bench", gpt2_, gpt2_, "--device", "cuda:99"}).status) << onGpu.err;
  EXPECT_NE(onGpu.err.find("GPU"), std::string::npos) << onGpu.err;
}

TEST_F(Verbs, APlanIsNeverWrittenOverAModel) {
  fs::copy_file(gpt2_, at("model.pt"));
  for (const char* taken : {"model.pt", "out.pt"}) {
    const Answer answer = ask({"fold", at("model.pt"), "-o", at("out.pt"), "--no-verify", "--save-plan", at(taken)});
    EXPECT_EQ(answer.status, 2) << taken << answer.err;
    EXPECT_EQ(contents(at("model.pt")), contents(gpt2_));
  }
}

// What is taken for beta is the norm's input.
TEST_F(Verbs, ARefusedEditIsTheReasonAndWritesNothingEvenForced) {
  ASSERT_EQ(ask({"fold", gpt2_, "-o", at("a.pt"), "--no-verify", "--save-plan", at("plan.json")}).status, 0);
  json plan = json::parse(contents(at("plan.json")));
  for (json& edit : plan["edits"]) {
    if (edit["kind"] == "absorb_shift") edit["shift_operand"] = 0;
  }
  std::ofstream(at("plan.json")) << plan;
  const Answer refused =
      ask({"fold", gpt2_, "-o", at("out.pt"), "--plan", at("plan.json"), "--save-plan", at("plan.json"), "--force"});
  EXPECT_EQ(refused.status, 1) << refused.err;
  EXPECT_NE(refused.object["reason"].get<std::string>().find("is not a constant"), std::string::npos) << refused.object;
  EXPECT_EQ(json::parse(contents(at("plan.json"))), plan);
  EXPECT_FALSE(fs::exists(at("out.pt")));
}

TEST_F(Verbs, WrongRequestsAreAnsweredBeforeAnythingIsWritten) {
  struct Row {
    std::vector<std::string> arguments;
    int status;
  };
  std::ofstream(at("not_arrays.npz")) << "hello";
  const Row rows[] = {
      {{"fold", gpt2_, "-o", gpt2_}, 2},
      {{"fold", gpt2_, "-o", at("out.onnx")}, 2},
      {{"fold", gpt2_, "-o", at("out.pt"), "--norm", "standard"}, 2},
      {{"fold", gpt2_, "-o", at("none/out.pt")}, 3},
      {{"fold", gpt2_, "-o", at("out.pt"), "--plan", at("none.json")}, 3},
      {{"fold", gpt2_, "-o", at("out.pt"), "--inputs", at("not_arrays.npz")}, 3},
      {{"fold", gpt2_, "-o", at("out.pt"), "--inputs", at("none.npz")}, 3},
      {{"fold", gpt2_, "-o", at("out.pt"), "--input", "in_0=int64[1,8]:0..999999"}, 3},
      {{"fold", gpt2_, "-o", at("out.pt"), "--input", "nobody=int64[1,8]:0..9"}, 3},
      {{"fold", gpt2_, "-o", at("out.pt"), "--input", "in_0=int64"}, 2},
      {{"diff", gpt2_, (kDemos / "vit.pt").string()}, 3},
      {{"bench", gpt2_, "--sweep", "depth=3"}, 2},
      {{"bench", gpt2_, "--sweep", "dtype=int8"}, 2},
      {{"bench", gpt2_, "--dtype", "float8"}, 2},
      {{"bench", gpt2_, bert_, "--fold"}, 2},
      {{"bench", gpt2_, bert_, "--sweep", "norm=fast"}, 2},
      {{"bench", gpt2_, "--fold", "--norm", "standard"}, 2},
      {{"bench", gpt2_, "--norm", "batch"}, 2},
  };
  for (const Row& row : rows) {
    const Answer answer = ask(row.arguments);
    EXPECT_EQ(answer.status, row.status) << testing::PrintToString(row.arguments) << answer.err;
    ASSERT_TRUE(answer.object.contains("error")) << testing::PrintToString(row.arguments);
    EXPECT_FALSE(answer.object["error"]["message"].get<std::string>().empty());
    EXPECT_FALSE(fs::exists(at("out.pt")));
  }
}

TEST_F(Verbs, QuietSaysNothing) {
  const auto result = test::runProgram(ENGINE_PROGRAM, {"fold", gpt2_, "-o", at("out.pt"), "--quiet", "--no-verify"});
  EXPECT_EQ(result.status, 0);
  EXPECT_EQ(result.out + result.err, "");
}

}  // namespace
}  // namespace normlens::engine
