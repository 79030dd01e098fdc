// `sweep` on bundled models, from outside: its lines, what is skipped, what lies on the disk afterwards. What kills it
// is in tests/faults/test_sweep.py.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/engine/run_program.h"

namespace normlens::engine {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

std::string contents(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::vector<std::string> linesOf(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

class SweepTest : public ::testing::Test {
 protected:
  struct Answer {
    int status = -1;
    std::vector<json> lines;
    std::string out, err;
    [[nodiscard]] std::vector<std::string> statuses() const {
      std::vector<std::string> all;
      for (const json& line : lines) all.push_back(line["status"]);
      return all;
    }
  };

  // In a folder with copies of the demo models, and one that is none.
  void SetUp() override {
    fs::create_directories(folder_ / "out");
    for (const char* name : {"gpt2.pt", "vit.pt", "bert.pt"})
      fs::copy_file(fs::path(NORMLENS_DEMO_MODELS) / name, at(name));
    std::ofstream(at("broken.pt")) << "no model";
  }
  void TearDown() override { fs::remove_all(folder_); }

  [[nodiscard]] std::string at(const std::string& name) const { return (folder_ / name).string(); }
  static Answer run(std::vector<std::string> words) {
    words.insert(words.begin(), "sweep");
    const auto ended = test::runProgram(ENGINE_PROGRAM, words);
    return {ended.status, {}, ended.out, ended.err};
  }
  // With --json-lines: each line of stdout is an object.
  static Answer ask(std::vector<std::string> words) {
    words.emplace_back("--json-lines");
    Answer answer = run(std::move(words));
    for (const std::string& text : linesOf(answer.out)) {
      json line = json::parse(text, nullptr, false);
      EXPECT_TRUE(line.is_object()) << text;
      EXPECT_EQ(line.value("schema", 0), 1) << text;
      answer.lines.push_back(std::move(line));
    }
    return answer;
  }
  static json alone(std::vector<std::string> words) {
    words.emplace_back("--json");
    return json::parse(test::runProgram(ENGINE_PROGRAM, words).out);
  }
  // gpt2 and vit, folded, with results.
  [[nodiscard]] std::vector<std::string> folding(std::vector<std::string> more = {}) const {
    std::vector<std::string> words = {at("gpt2.pt"), at("vit.pt"), "-o", at("out"), "--results", at("results.jsonl")};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }

  using Words = std::vector<std::string>;
  const fs::path folder_ = fs::path(::testing::TempDir()) / ("normlens_sweep_" + std::to_string(getpid()));
};

TEST_F(SweepTest, ABrokenFileIsALineAndTheOthersAreDone) {
  const Answer answer = ask({at("gpt2.pt"), at("broken.pt"), at("vit.pt")});
  EXPECT_EQ(answer.status, 3);
  EXPECT_EQ(answer.statuses(), (Words{"done", "failed", "done"}));
  EXPECT_EQ(answer.lines[1]["model"], at("broken.pt"));
  EXPECT_EQ(answer.lines[1]["error"], alone({"analyze", at("broken.pt")})["error"]);
  EXPECT_FALSE(answer.lines[0].contains("error"));
  EXPECT_EQ(answer.lines[0]["totals"], alone({"analyze", at("gpt2.pt")})["totals"]);
  const auto errors = linesOf(answer.err);
  ASSERT_EQ(errors.size(), 2U) << answer.err;
  EXPECT_TRUE(errors[0].starts_with("normlens: " + at("broken.pt"))) << errors[0];
  EXPECT_EQ(errors[1], "3 models: 2 done, 0 skipped, 0 not done, 1 failed");
}

TEST_F(SweepTest, WhatIsWrittenIsWhatFoldWrites) {
  const Answer answer = ask(folding({"--policy", "all", "--norm", "primitives"}));
  EXPECT_EQ(answer.status, 0) << answer.err;
  for (const json& line : answer.lines) {
    const fs::path model = line["model"].get<std::string>();
    const json folded =
        alone({"fold", model.string(), "-o", at("alone.pt"), "--policy", "all", "--norm", "primitives"});
    EXPECT_EQ(contents(folder_ / "out" / model.filename()), contents(at("alone.pt"))) << model;
    json told = line["fold"];
    EXPECT_EQ(told["output"], (folder_ / "out" / model.filename()).string());
    for (const char* own : {"output", "load_ms", "fold_ms", "save_ms"}) told[own] = folded[own];
    told["schema"] = 1;
    EXPECT_EQ(told, folded);
  }
  EXPECT_NE(contents(at("out/gpt2.pt")), contents(at("out/vit.pt")));
}

TEST_F(SweepTest, WhatIsDoneIsSkipped) {
  const Answer first = ask(folding());
  EXPECT_EQ(first.statuses(), (Words{"done", "done"}));
  EXPECT_EQ(contents(at("results.jsonl")), first.out);
  const auto written = fs::last_write_time(at("out/gpt2.pt"));
  const Answer again = ask(folding());
  EXPECT_EQ(again.status, 0);
  EXPECT_EQ(again.statuses(), (Words{"skipped", "skipped"}));
  EXPECT_EQ(again.lines[0]["fold"], first.lines[0]["fold"]);
  EXPECT_EQ(contents(at("results.jsonl")), first.out);
  EXPECT_EQ(fs::last_write_time(at("out/gpt2.pt")), written);
  // Verdicts are something else, and are kept beside.
  const Words analysed = {at("gpt2.pt"), "--results", at("results.jsonl")};
  EXPECT_EQ(ask(analysed).statuses(), Words{"done"});
  EXPECT_EQ(ask(analysed).statuses(), Words{"skipped"});
  EXPECT_EQ(ask(folding()).statuses(), (Words{"skipped", "skipped"}));
}

TEST_F(SweepTest, WhatChangedIsDoneAgain) {
  const std::map<std::string, std::function<Words()>> changes = {
      {"the model",
       [&] {
         fs::copy_file(at("bert.pt"), at("gpt2.pt"), fs::copy_options::overwrite_existing);
         return folding();
       }},
      {"when it was written",
       [&] {
         fs::last_write_time(at("gpt2.pt"), fs::last_write_time(at("gpt2.pt")) + std::chrono::nanoseconds(1000));
         return folding();
       }},
      {"the output",
       [&] {
         std::ofstream(at("out/gpt2.pt"), std::ios::app) << "more";
         return folding();
       }},
      {"that there is one", [&] {
         fs::remove(at("out/gpt2.pt"));
         return folding();
       }}};
  for (const auto& [what, change] : changes) {
    fs::remove(at("results.jsonl"));
    ASSERT_EQ(ask(folding({"--no-verify"})).status, 0);
    ASSERT_EQ(ask(folding()).statuses(), (Words{"done", "done"})) << "another option";
    EXPECT_EQ(ask(change()).statuses(), (Words{"done", "skipped"})) << what;
    EXPECT_EQ(contents(at("out/gpt2.pt")).substr(0, 2), "PK") << what;
    EXPECT_EQ(ask(folding()).statuses(), (Words{"skipped", "skipped"})) << what;
  }
}

TEST_F(SweepTest, ALineThatIsCutShortCountsForNothing) {
  const Answer first = ask(folding());
  ASSERT_EQ(first.lines.size(), 2U);
  fs::resize_file(at("results.jsonl"), fs::file_size(at("results.jsonl")) - 100);
  EXPECT_EQ(ask(folding()).statuses(), (Words{"skipped", "done"}));
  EXPECT_EQ(ask(folding()).statuses(), (Words{"skipped", "skipped"}));
  const auto lines = linesOf(contents(at("results.jsonl")));
  ASSERT_EQ(lines.size(), 3U);
  EXPECT_FALSE(json::accept(lines[1]));
  EXPECT_TRUE(json::accept(lines[2]));
}

TEST_F(SweepTest, WhatIsNotProvedIsNotDoneAndTriedAgain) {
  std::ofstream(at("out/bert.pt")) << "precious";
  const Words words = {at("bert.pt"), at("gpt2.pt"), "-o",        at("out"),
                       "--policy",    "paper",       "--results", at("results.jsonl")};
  for (const char* gpt2 : {"done", "skipped"}) {
    const Answer answer = ask(words);
    EXPECT_EQ(answer.status, 1);
    EXPECT_EQ(answer.statuses(), (Words{"not_done", gpt2}));
    EXPECT_EQ(answer.lines[0]["fold"]["verify"]["exact"], false);
    EXPECT_TRUE(answer.lines[0]["fold"]["output"].is_null());
    EXPECT_EQ(contents(at("out/bert.pt")), "precious");
  }
}

TEST_F(SweepTest, ListsAreAsFilesThatAreNamed) {
  const std::string list = at("gpt2.pt") + "\n\n" + at("broken.pt") + "\n" + at("gpt2.pt") + "\n" + at("vit.pt");
  std::ofstream(at("list")) << list;
  const Answer named = ask({at("gpt2.pt"), at("broken.pt"), at("vit.pt")});
  const Answer listed = ask({"--files-from", at("list")});
  test::LiveProgram piped(ENGINE_PROGRAM, {"sweep", "--files-from", "-", "--json-lines"});
  piped.send(list);
  piped.closeInput();
  EXPECT_EQ(piped.wait(), 3);
  const auto timeless = [](const std::string& out) {
    std::vector<json> lines;
    for (const std::string& text : linesOf(out)) (lines.emplace_back(json::parse(text))).erase("seconds");
    return lines;
  };
  EXPECT_EQ(timeless(listed.out), timeless(named.out));
  EXPECT_EQ(timeless(piped.out), timeless(named.out));
  EXPECT_EQ(named.lines.size(), 3U);
}

TEST_F(SweepTest, APatternTakesModelsOfOneName) {
  for (const char* of : {"one", "two"}) {
    fs::create_directories(folder_ / of);
    fs::copy_file(at("gpt2.pt"), folder_ / of / "model.pt");
  }
  const Answer answer = ask({at("one/model.pt"), at("two/model.pt"), "-o", at("out/{parent}_{name}_folded{suffix}")});
  EXPECT_EQ(answer.status, 0) << answer.err;
  EXPECT_TRUE(fs::exists(at("out/one_model_folded.pt")) && fs::exists(at("out/two_model_folded.pt")));
  EXPECT_EQ(ask({at("one/model.pt"), "-o", "{folder}/{name}_folded{suffix}"}).status, 0);
  EXPECT_TRUE(fs::exists(at("one/model_folded.pt")));
}

TEST_F(SweepTest, WhatWouldLoseAFileIsRefusedBeforeAnythingBegins) {
  fs::create_directories(folder_ / "two");
  fs::copy_file(at("gpt2.pt"), at("two/gpt2.pt"));
  std::ofstream(at("two/vit.pt")) << "precious";
  const std::vector<std::pair<Words, int>> rows = {
      {{at("vit.pt"), at("gpt2.pt"), at("two/gpt2.pt"), "-o", at("out")}, 2},
      {{at("vit.pt"), "-o", at("out/../.")}, 2},
      {{at("gpt2.pt"), at("two/gpt2.pt"), "-o", at("two/{name}{suffix}")}, 2},
      {{at("vit.pt"), "-o", at("out/{nme}.pt")}, 2},
      {{at("vit.pt"), "-o", at("out/{name")}, 2},
      {{at("vit.pt"), "--results", at("vit.pt")}, 2},
      {{at("vit.pt"), "--results", at("broken.pt")}, 2},
      {{at("vit.pt"), "--results", at("out")}, 3},
      {{at("vit.pt"), "-o", at("none")}, 3},
      {{"--files-from", at("none")}, 3},
      {{"--files-from", at("out")}, 3},
      {{at("vit.pt"), "--policy", "all"}, 2},
      {{at("vit.pt"), "--threads", "0"}, 2},
      {{}, 2},
  };
  for (const auto& [words, status] : rows) {
    const Answer answer = ask(words);
    EXPECT_EQ(answer.status, status) << testing::PrintToString(words) << answer.err;
    EXPECT_EQ(answer.out, "") << testing::PrintToString(words);
    EXPECT_EQ(linesOf(answer.err).size(), 1U) << answer.err;
    EXPECT_TRUE(fs::is_empty(at("out"))) << testing::PrintToString(words);
  }
  EXPECT_EQ(contents(at("broken.pt")), "no model");
  EXPECT_EQ(contents(at("two/gpt2.pt")), contents(at("gpt2.pt")));
}

TEST_F(SweepTest, AReaderHasALineForEachModel) {
  const Answer answer = run({at("gpt2.pt"), at("broken.pt"), at("vit.pt"), "-o", at("out")});
  EXPECT_EQ(answer.status, 3);
  const auto lines = linesOf(answer.out);
  ASSERT_EQ(lines.size(), 3U) << answer.out;
  EXPECT_TRUE(lines[0].starts_with(at("gpt2.pt") + ": done: 9 of 9 LayerNorms folded")) << lines[0];
  EXPECT_TRUE(lines[1].starts_with(at("broken.pt") + ": failed: ")) << lines[1];
  EXPECT_EQ(linesOf(answer.err).size(), 1U) << answer.err;

  const Answer counted = run({at("gpt2.pt"), at("broken.pt"), "--json"});
  EXPECT_EQ(json::parse(counted.out),
            json({{"schema", 1}, {"models", 2}, {"done", 1}, {"skipped", 0}, {"not_done", 0}, {"failed", 1}}));
  const Answer quiet = run({at("gpt2.pt"), at("broken.pt"), "--quiet"});
  EXPECT_EQ(quiet.out, "");
  EXPECT_EQ(linesOf(quiet.err).size(), 1U) << quiet.err;
}

TEST_F(SweepTest, ASweepThatNobodyReadsEnds) {
  const auto ended =
      test::runProgram("/bin/bash", {"-c", R"(exec 3> >(:); wait $!; "$0" sweep "$@" --json-lines >&3)", ENGINE_PROGRAM,
                                     at("gpt2.pt"), at("vit.pt"), "--results", at("results.jsonl")});
  EXPECT_EQ(ended.status, 1) << ended.err;
  EXPECT_NE(ended.err.find("stdout cannot be written"), std::string::npos) << ended.err;
  EXPECT_EQ(linesOf(contents(at("results.jsonl"))).size(), 1U);
}

}  // namespace
}  // namespace normlens::engine
