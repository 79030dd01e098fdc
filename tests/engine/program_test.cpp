// The real program: what it answers before any model is involved (usage, errors, JSON, exit statuses), the worker
// process over its real pipes, and Ctrl-C in the middle of a measurement.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>
#include <thread>

#include "app/engine/verbs.h"
#include "core/protocol/framing.h"
#include "core/protocol/methods.h"
#include "core/protocol/rpc.h"
#include "tests/engine/run_program.h"
#include "tests/support/must.h"

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
  const std::string version = "NormLens " + json::parse(run({"doctor", "--json"}).out).at("version").get<std::string>();
  EXPECT_EQ(run({"--version"}).out, version + "\n");
  EXPECT_EQ(run({"-v"}).out, version + "\n");
  EXPECT_EQ(run({"doctor"}).out.rfind(version + ", ", 0), 0U) << run({"doctor"}).out;
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

TEST(Program, AnUnknownWordNamesTheNearest) {
  const std::map<std::string, std::vector<std::string>> rows = {
      {"there is no verb 'analize'; did you mean analyze?", {"analize", "a.pt"}},
      {"there is no verb 'frobnicate'; see normlens --help", {"frobnicate"}},
      {"fold has no option --polcy; did you mean --policy?", {"fold", "a.pt", "--polcy=free"}},
      {"fold has no option --polcy; did you mean --policy?", {"fold", "a.pt", "-o", "b.pt", "--polcy", "free"}},
      {"bench has no option --xyzxyz; see normlens bench --help", {"bench", "a.pt", "--xyzxyz"}},
  };
  for (const auto& [said, words] : rows) {
    const auto answered = run(words);
    EXPECT_EQ(answered.status, 2);
    EXPECT_EQ(answered.err, "normlens: " + said + "\n");
  }
}

TEST(Program, HelpHasGroupsAndAnExampleOfEachVerb) {
  const std::string help = run({"--help"}).out;
  for (const Verb& verb : verbs()) {
    EXPECT_NE(help.find("\n" + std::string(verb.group) + ":\n"), std::string::npos) << verb.name;
    EXPECT_EQ(verb.example.find("normlens " + std::string(verb.name)), 0U) << verb.name;
    const std::string own = run({std::string(verb.name), "--help"}).out;
    EXPECT_NE(own.find("Example:\n  " + std::string(verb.example)), std::string::npos) << own;
  }
  const std::string examples = help.substr(help.find("\nExamples:\n"));
  std::set<std::string_view> groups, shown;
  for (const Verb& verb : verbs()) {
    groups.insert(verb.group);
    if (examples.find("\n  " + std::string(verb.example) + "\n") != std::string::npos) shown.insert(verb.group);
  }
  EXPECT_EQ(shown, groups) << examples;
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

using namespace protocol;

class Serve : public ::testing::Test {
 protected:
  void send(int64_t id, std::string_view method, const nlohmann::json& params = nullptr) {
    program_.send(encodeFrame(requestBody(id, method, params)));
  }
  // The next reply. stdout must hold nothing but frames.
  RpcMessage takeReply() {
    for (;;) {
      decoder_.feed(std::string_view(program_.out).substr(seen_));
      seen_ = program_.out.size();
      while (const auto frame = decoder_.next()) {
        if (!*frame) throw std::runtime_error("stdout holds no frame: " + frame->error().message);
        const auto message = parseMessage(**frame);
        if (!message) throw std::runtime_error("stdout holds no message: " + **frame);
        if (message->isReply()) return *message;
      }
      if (!program_.readSome()) throw std::runtime_error("no reply; stderr: " + program_.err);
    }
  }
  RpcMessage ask(std::string_view method, const nlohmann::json& params = nullptr) {
    send(++asked_, method, params);
    RpcMessage reply = takeReply();
    EXPECT_EQ(reply.id, asked_);
    return reply;
  }
  void initialize() { ASSERT_FALSE(ask(methods::kInitialize, toJson(InitializeParams{})).failure); }

  test::LiveProgram program_{ENGINE_PROGRAM, {"serve"}};
  FrameDecoder decoder_;
  size_t seen_ = 0;
  int64_t asked_ = 0;
};

TEST_F(Serve, IntroducesItselfAndEnds) {
  const auto info = must(decode<EngineInfo>(ask(methods::kInitialize, toJson(InitializeParams{})).result));
  EXPECT_EQ(info.protocol, kProtocolVersion);
  EXPECT_GT(info.pid, 0);
  EXPECT_FALSE(info.torch.empty());
  EXPECT_FALSE(ask(methods::kShutdown).failure);
  EXPECT_EQ(program_.wait(), 0);
}

TEST_F(Serve, RefusesAnotherProtocol) {
  const auto failure = must(ask(methods::kInitialize, {{"protocol", 999}}).failure);
  EXPECT_TRUE(failure.message.ends_with(", protocol " + std::to_string(kProtocolVersion) +
                                        ") is older than the window (protocol 999)"))
      << failure.message;
  const auto newer = must(ask(methods::kInitialize, {{"protocol", 0}}).failure);
  EXPECT_TRUE(newer.message.ends_with(") is newer than the window (protocol 0)")) << newer.message;
  EXPECT_EQ(ask(methods::kAnalyze).failure->code, RpcError::NotInitialized);
}

TEST_F(Serve, OutlivesEveryWrongRequest) {
  initialize();
  program_.send("not a frame\n");
  const std::pair<std::string_view, nlohmann::json> rows[] = {
      {methods::kOpen, {{"path", "/no/such/model.pt"}}},
      {methods::kOpen, {{"path", 7}}},
      {methods::kOpen, {{"path", std::filesystem::temp_directory_path().string()}}},
      {methods::kAnalyze, nullptr},
      {methods::kZeroMeanGraph, {{"norm", -1}}},
      {methods::kPlan, {{"policy", "reckless"}}},
      {methods::kPreviewCenter, {{"value", 123456}}},
      {methods::kFold, {{"verify", "yes"}}},
      {methods::kFold, nullptr},
      {methods::kExport, {{"path", "/tmp/never_written.pt"}}},
      {methods::kBench, {{"rounds", -4}}},
      {methods::kTensorStats, {{"value", -7}}},
      {methods::kSaveTensor, {{"value", 0}, {"path", "/tmp/never_written.npy"}}},
      {methods::kSetInputs, {{"specs", {"nonsense"}}}},
      {methods::kListFolder, {{"path", "no/whole/path"}}},
      {methods::kSendChunk, {{"folder", ".."}, {"name", "../model.pt"}, {"bytes", 1}}},
      {methods::kFetchChunk, {{"path", "/etc/passwd"}}},
      {"no_such_method", nullptr},
  };
  for (const auto& [method, params] : rows) {
    const RpcMessage reply = ask(method, params);
    EXPECT_TRUE(reply.failure) << method << " " << params;
    ASSERT_TRUE(reply.failure);
    EXPECT_FALSE(reply.failure->message.empty()) << method;
  }
  EXPECT_FALSE(ask(methods::kShutdown).failure);
  EXPECT_EQ(program_.wait(), 0);
  EXPECT_NE(program_.err.find("not a frame"), std::string::npos) << program_.err;
}

TEST_F(Serve, EndsWithItsClient) {
  initialize();
  program_.closeInput();
  EXPECT_EQ(program_.wait(), 0);
}

TEST_F(Serve, EndsOnSigterm) {
  initialize();
  program_.kill(SIGTERM);
  EXPECT_EQ(program_.wait(), 1);
}

using nlohmann::json;
using std::chrono::milliseconds;

constexpr const char* kModel = NORMLENS_DEMO_MODELS "/gpt2.pt";
constexpr const char* kEndless = "1000000000";  // rounds
constexpr int kLastSize = 120;

TEST(BenchStop, TextTellsThePointsThatWereMeasured) {
  // Far more points than are measured until the signal has come.
  std::string sweep = "seq=4";
  for (int size = 5; size <= kLastSize; ++size) sweep += "," + std::to_string(size);
  test::LiveProgram program(ENGINE_PROGRAM, {"bench", kModel, "--fold", "--threads", "1", "--warmup", "1", "--rounds",
                                             "40", "--iterations", "1", "--sweep", sweep});
  program.closeInput();
  while (program.out.find("speed-up") == std::string::npos && program.readSome()) {
  }
  program.kill(SIGINT);
  EXPECT_EQ(program.wait(), 1) << program.err;
  EXPECT_NE(program.out.find("seq=4 a: median"), std::string::npos) << program.out;
  EXPECT_EQ(program.out.find("seq=" + std::to_string(kLastSize) + " "), std::string::npos) << program.out;
  EXPECT_NE(program.out.find("norms of a by their shapes"), std::string::npos) << program.out;
  EXPECT_NE(program.err.find("stopped: the figures above were measured, the others were not"), std::string::npos)
      << program.err;
}

// With --json nothing is written before the end, so when the first round is done is found by trying.
TEST(BenchStop, JsonHoldsTheRoundsThatWereMeasured) {
  for (milliseconds patience(250); patience < milliseconds(60'000); patience *= 2) {
    test::LiveProgram program(ENGINE_PROGRAM, {"bench", kModel, "--fold", "--threads", "1", "--rounds", kEndless,
                                               "--iterations", "2", "--json", "--quiet"});
    program.closeInput();
    std::this_thread::sleep_for(patience);
    program.kill(SIGINT);
    const int status = program.wait();
    if (status != 1 && program.out.empty()) continue;  // it was not listening yet
    const json report = json::parse(program.out, nullptr, false);
    ASSERT_TRUE(report.is_object()) << program.out << program.err;
    if (report.contains("error")) continue;  // stopped before anything was measured
    EXPECT_EQ(status, 1);
    EXPECT_EQ(report["complete"], false);
    EXPECT_FALSE(report["rounds"].empty());
    EXPECT_GE(report["a"]["n"].get<size_t>(), 4 * report["rounds"].size());
    EXPECT_GT(report["a"]["median_ms"].get<double>(), 0);
    EXPECT_GT(report["speedup"]["median"].get<double>(), 0);
    return;
  }
  FAIL() << "nothing was measured in a minute";
}

}  // namespace
}  // namespace normlens::engine
