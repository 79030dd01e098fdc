// What the program answers before any model is involved: usage, errors, JSON, exit statuses.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>

#include "app/engine/verbs.h"
#include "tests/engine/run_program.h"

namespace normlens::engine {
namespace {

using nlohmann::json;

test::ProgramResult run(const std::vector<std::string>& arguments) {
  return test::runProgram(ENGINE_PROGRAM, arguments);
}

int64_t lines(const std::string& text) { return std::ranges::count(text, '\n'); }

TEST(Program, HelpNamesEveryVerb) {
  const auto help = run({"--help"});
  EXPECT_EQ(help.status, 0);
  for (const Verb& verb : verbs()) {
    EXPECT_NE(help.out.find(verb.name), std::string::npos) << verb.name;
    EXPECT_NE(help.out.find(verb.summary), std::string::npos) << verb.name;
    EXPECT_EQ(run({std::string(verb.name), "--help"}).status, 0) << verb.name;
  }
  EXPECT_EQ(run({"--version"}).status, 0);
}

TEST(Program, UsageErrorsAreOneLineAndTwo) {
  const std::vector<std::vector<std::string>> rows = {
      {},
      {"no_such_verb"},
      {"analyze"},
      {"analyze", "a.pt", "--no-such-option"},
      {"fold", "a.pt"},
      {"fold", "a.pt", "-o", "b.pt", "--policy", "reckless"},
      {"fold", "a.pt", "-o", "b.pt", "--norm", "batch"},
      {"fold", "a.pt", "-o", "b.pt", "--max-growth", "-1"},
      {"fold", "a.pt", "-o", "b.pt", "--inputs", "x.npz", "--input", "in_0=int64[1]"},
      {"fuse", "a.pt"},
      {"crms", "a.pt"},
      {"crms", "a.pt", "-o", "b.pt", "--pad", "odd"},
      {"crms", "a.pt", "-o", "b.pt", "--policy", "paper"},
      {"bench", "a.pt", "--rounds", "0"},
      {"bench", "a.pt", "--rounds", "2.5"},
      {"bench", "a.pt", "--warmup", "-1"},
      {"bench", "a.pt", "--threads", "many"},
      {"fold", "a.pt", "-o", "b.pt", "--max-growth", "-2"},
      {"diff", "a.pt", "b.pt", "--fail-above", "-1"},
      {"diff", "a.pt", "b.pt", "--batches", "0"},
      {"bench", "a.pt", "--sweep", "batch"},
      {"diff", "a.pt"},
      {"probe"},
      {"report", "a.pt"},
      {"report", "a.pt", "-o", "b.txt"},
      {"report", "a.pt", "-o", "b.md", "--rounds", "0"},
      {"probe", "a.pt", "--seed", "many"},
      {"probe", "a.pt", "--policy", "reckless"},
  };
  for (auto row : rows) {
    row.emplace_back("--json");
    const auto answered = run(row);
    EXPECT_EQ(answered.status, 2) << testing::PrintToString(row);
    EXPECT_EQ(lines(answered.err), 1) << answered.err;
    const json object = json::parse(answered.out, nullptr, false);
    ASSERT_TRUE(object.is_object()) << answered.out;
    EXPECT_EQ(object["schema"], 1);
    EXPECT_EQ(object["error"]["code"], "usage");
    EXPECT_FALSE(object["error"]["message"].get<std::string>().empty());
    EXPECT_LT(answered.err.size(), 200U) << answered.err;
  }
  const auto plain = run({"analyze"});
  EXPECT_EQ(plain.status, 2);
  EXPECT_EQ(plain.out, "");
  EXPECT_EQ(lines(plain.err), 1) << plain.err;
}

TEST(Program, WhatCannotBePrintedIsOneLineAndOne) {
  // A pipe whose reader has ended: waited for, since the program may be quicker than a reader beside it.
  constexpr const char* kNobodyReads = "exec 3> >(:); wait $!; ";
  for (const std::string words : {"doctor", "doctor --json", "--help", "--version"}) {
    for (const std::string& line : {"\"$0\" " + words + " > /dev/full", kNobodyReads + ("\"$0\" " + words) + " >&3"}) {
      const auto answered = test::runProgram("/bin/bash", {"-c", line, ENGINE_PROGRAM});
      EXPECT_EQ(answered.status, 1) << line;
      EXPECT_EQ(lines(answered.err), 1) << answered.err;
    }
  }
}

TEST(Program, AFileThatIsNotThereIsThree) {
  for (const std::vector<std::string>& row :
       std::vector<std::vector<std::string>>{{"analyze", "/no/such/model.pt"},
                                             {"fold", "/no/such/model.pt", "-o", "/tmp/never_written.pt"},
                                             {"fuse", "/no/such/model.pt", "-o", "/tmp/never_written.pt"},
                                             {"crms", "/no/such/model.pt", "-o", "/tmp/never_written.pt"},
                                             {"diff", "/no/such/model.pt", "/no/such/other.pt"},
                                             {"probe", "/no/such/model.pt"},
                                             {"report", "/no/such/model.pt", "-o", "/tmp/never_written.md"},
                                             {"bench", "/no/such/model.pt"}}) {
    auto arguments = row;
    arguments.emplace_back("--json");
    const auto answered = run(arguments);
    EXPECT_EQ(answered.status, 3) << testing::PrintToString(row);
    EXPECT_EQ(lines(answered.err), 1) << answered.err;
    EXPECT_NE(answered.err.find("/no/such/model.pt"), std::string::npos) << answered.err;
    EXPECT_EQ(json::parse(answered.out)["error"]["code"], "unreadable");
    EXPECT_EQ(lines(answered.out), 1);
  }
}

TEST(Program, DoctorSaysWhatThereIs) {
  const auto answered = run({"doctor", "--json"});
  EXPECT_EQ(answered.status, 0);
  const json object = json::parse(answered.out);
  EXPECT_EQ(object["schema"], 1);
  EXPECT_FALSE(object["torch"].get<std::string>().empty());
  for (const char* key : {"version", "device", "gpus", "providers", "ops_library", "missing"}) {
    EXPECT_TRUE(object.contains(key)) << key;
  }
  if (!object["onnx_runtime"].is_null()) {
    const json& providers = object["providers"];
    EXPECT_NE(std::ranges::find(providers, json("CPUExecutionProvider")), providers.end()) << providers;
  }
  const auto quiet = run({"doctor", "--quiet"});
  EXPECT_EQ(quiet.out + quiet.err, "");
}

}  // namespace
}  // namespace normlens::engine
