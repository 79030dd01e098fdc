// What the program answers before any model is involved: usage, errors, JSON, exit statuses.
#include <gtest/gtest.h>

#include <algorithm>
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
  EXPECT_TRUE(object["gpu_check"].is_null());
  const auto quiet = run({"doctor", "--quiet"});
  EXPECT_EQ(quiet.out + quiet.err, "");
}

// A machine without a GPU says at which step it ends, with the words of who refused.
TEST(Program, DoctorTriesTheGpu) {
  const auto answered = run({"doctor", "--gpu", "--json"});
  const json object = json::parse(answered.out);
  const json& steps = object["gpu_check"];
  ASSERT_FALSE(steps.empty());
  EXPECT_EQ(steps[0]["step"], "driver");
  const bool works = steps.back()["error"] == "";
  EXPECT_EQ(works, object["device"] != "CPU") << steps;
  EXPECT_EQ(answered.status, works ? 0 : 1) << answered.err;
  if (!works) {
    EXPECT_FALSE(steps.back()["hint"].get<std::string>().empty());
  }
}

// The steps of doctor --gpu on a machine whose driver is the stand-in.
json stepsWithStandIn(const std::string& environment) {
  const auto answered =
      test::runProgram("/bin/bash", {"-c", environment + " LD_LIBRARY_PATH=\"$1\" \"$0\" doctor --gpu --json",
                                     ENGINE_PROGRAM, STAND_IN_DRIVER_FOLDER});
  EXPECT_EQ(answered.status, 1) << answered.err;
  return json::parse(answered.out)["gpu_check"];
}

TEST(Program, DoctorReportsWhatTheDriverReturns) {
  const json fails = stepsWithStandIn("");
  ASSERT_EQ(fails.size(), 2U) << fails;
  EXPECT_EQ(fails[0]["error"], "");
  EXPECT_EQ(fails[1]["error"], "the NVIDIA driver does not start: cuInit returned 304 (CUDA_ERROR_OPERATING_SYSTEM)");
  const json empty = stepsWithStandIn("CUDA_STAND_IN_GPUS=0");
  ASSERT_EQ(empty.size(), 2U) << empty;
  EXPECT_EQ(empty[1]["error"], "the NVIDIA driver shows no GPU");
}

// No driver can make a check succeed by ending it.
TEST(Program, ADriverThatExitsIsNoGpuThatWorks) {
  const auto answered =
      test::runProgram("/bin/bash", {"-c", "CUDA_STAND_IN_EXIT=1 LD_LIBRARY_PATH=\"$1\" \"$0\" doctor --gpu",
                                     ENGINE_PROGRAM, STAND_IN_DRIVER_FOLDER});
  EXPECT_EQ(answered.status, 3);
  EXPECT_EQ(lines(answered.err), 1) << answered.err;
  EXPECT_NE(answered.err.find("a library or the model ended the process"), std::string::npos) << answered.err;
}

// A driver that is older than LibTorch's CUDA. Where LibTorch's CUDA half cannot be loaded, the loader says why.
TEST(Program, DoctorReportsWhyTorchSeesNoGpu) {
  const json steps = stepsWithStandIn("CUDA_STAND_IN_GPUS=1");
  ASSERT_EQ(steps.size(), 3U) << steps;
  EXPECT_EQ(steps[1]["error"], "");
  const std::string error = steps[2]["error"];
  const bool loaded = error.find("LibTorch finds no GPU, although the NVIDIA driver shows one") != std::string::npos &&
                      error.find("the driver supports CUDA up to 12.4") != std::string::npos;
  const bool missing = error.find("LibTorch's CUDA half cannot be loaded: lib") != std::string::npos;
  EXPECT_TRUE(loaded || missing) << error;
}

}  // namespace
}  // namespace normlens::engine
