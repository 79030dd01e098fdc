// The laboratory from outside: runs, killed and stopped ones, and what is exported.
#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>

#include "core/run/tensors.h"
#include "tests/engine/run_program.h"
#include "tests/support/npz_files.h"
#include "tests/support/temporary_folder.h"

namespace normlens::engine {
namespace {

using nlohmann::json;

class Lab : public testing::Test {
 protected:
  // Small and on one thread; `change` is merged into it.
  std::string runFile(const json& change = json::object()) {
    json run = json::parse(R"({"layers": [3], "width": 16, "epochs": 3, "batch": 64, "threads": 1,
                               "data": {"samples": 200}})");
    run.merge_patch(change);
    std::ofstream(folder_ / "run.json") << run;
    return (folder_ / "run.json").string();
  }
  [[nodiscard]] std::string out(const std::string& name) const {
    std::filesystem::create_directory(folder_ / name);
    return (folder_ / name).string();
  }
  static test::ProgramResult lab(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "lab");
    return test::runProgram(ENGINE_PROGRAM, arguments);
  }
  static json reported(const test::ProgramResult& result) {
    const json report = json::parse(result.out, nullptr, false);
    EXPECT_TRUE(report.is_object()) << result.out << result.err;
    return report;
  }
  // Without what differs from run to run.
  static json numbersOf(const json& report) {
    json records = report.at("records");
    for (json& record : records) {
      for (const char* field : {"ms_per_step", "seconds", "bytes"}) record.erase(field);
    }
    return records;
  }

  TemporaryFolder folder_;
};

// In a folder that is made, with what is missing above it.
TEST_F(Lab, ARunIsToldAndItsNetworksAreKept) {
  const std::string folder = (folder_ / "all/runs").string();
  const auto result = lab({runFile(), "-o", folder, "--json"});
  ASSERT_EQ(result.status, 0) << result.err;
  const json report = reported(result);
  EXPECT_EQ(report["schema"], 1);
  EXPECT_EQ(report["run"], "run");
  EXPECT_EQ(report["end"], "done");
  EXPECT_EQ(report["records"].size(), 12U);
  EXPECT_EQ(report["findings"].size(), 2U);
  for (const json& name : report["weights"])
    EXPECT_TRUE(std::filesystem::exists(folder + "/" + name.get<std::string>())) << name;
  std::ifstream file(folder + "/result.json");
  EXPECT_EQ(numbersOf(json::parse(file)), numbersOf(report));
}

TEST_F(Lab, ItsSettingsReproduceARun) {
  const json first = reported(lab({runFile(), "--json"}));
  std::ofstream(folder_ / "run.json") << first["settings"];
  const json again = reported(lab({(folder_ / "run.json").string(), "--json"}));
  EXPECT_EQ(numbersOf(again), numbersOf(first));
}

TEST_F(Lab, TextTellsNetworksAndFindings) {
  const auto result = lab({runFile()});
  ASSERT_EQ(result.status, 0) << result.err;
  EXPECT_NE(result.out.find("run: 3 networks, LibTorch "), std::string::npos) << result.out;
  EXPECT_NE(result.out.find("holds: CBWC + RMSNorm is trained to the weights of LayerNorm: Adam, float32"),
            std::string::npos)
      << result.out;
}

// The first checkpoint comes after two seconds: a run that is shorter is done before it can be killed.
TEST_F(Lab, AKilledRunGoesOnToTheSameNumbers) {
  const std::string run = runFile({{"epochs", 1000}, {"width", 48}, {"layers", {5}}});
  const json whole = reported(lab({run, "--json"}));
  const std::string folder = out("runs");
  {
    test::LiveProgram program(ENGINE_PROGRAM, {"lab", run, "-o", folder, "--json-lines"});
    program.closeInput();
    while (!std::filesystem::exists(folder + "/checkpoint") && program.readSome()) {
    }
    program.kill(SIGKILL);
    EXPECT_EQ(program.wait(), -SIGKILL);
  }
  ASSERT_FALSE(std::filesystem::exists(folder + "/result.json")) << "it was done before it was killed";
  const auto resumed = lab({run, "-o", folder, "--json"});
  ASSERT_EQ(resumed.status, 0) << resumed.err;
  EXPECT_NE(resumed.err.find("resuming from the checkpoint of epoch "), std::string::npos) << resumed.err;
  EXPECT_EQ(numbersOf(reported(resumed)), numbersOf(whole));
}

TEST_F(Lab, AStoppedRunIsToldAndGoesOn) {
  const std::string run = runFile({{"epochs", 100000}});
  const std::string folder = out("runs");
  test::LiveProgram program(ENGINE_PROGRAM, {"lab", run, "-o", folder, "--json"});
  program.closeInput();
  while (!std::filesystem::exists(folder + "/checkpoint")) std::this_thread::sleep_for(std::chrono::milliseconds(20));
  program.kill(SIGINT);
  EXPECT_EQ(program.wait(), 1) << program.err;
  const json report = json::parse(program.out, nullptr, false);
  ASSERT_TRUE(report.is_object()) << program.out << program.err;
  EXPECT_EQ(report["end"], "stopped");
  EXPECT_GT(report["records"].size(), 3U);
  EXPECT_NE(program.err.find("stopped: the results so far are shown, and the same command resumes the run"),
            std::string::npos)
      << program.err;
  EXPECT_EQ(report["weights"].size(), 3U);
}

TEST_F(Lab, WhatIsWrongIsToldInALine) {
  const std::string path = (folder_ / "run.json").string(), none = (folder_ / "none").string();
  const auto told = [](const test::ProgramResult& result) { return std::pair(result.status, result.err); };
  EXPECT_EQ(told(lab({none})).first, 3);
  EXPECT_NE(told(lab({none})).second.find("the run " + none + " cannot be read: No such file"), std::string::npos);
  const auto misspelt = told(lab({runFile({{"epoch", 3}})}));
  EXPECT_EQ(misspelt.first, 3);
  EXPECT_NE(
      misspelt.second.find("the run " + path + " cannot be carried out: the settings of a run have no field epoch"),
      std::string::npos)
      << misspelt.second;
  const auto file = told(lab({runFile(), "-o", path}));
  EXPECT_EQ(file.first, 3);
  EXPECT_NE(file.second.find(path + " is not a folder"), std::string::npos) << file.second;
  const auto folder = told(lab({runFile(), "-o", path + "/runs"}));
  EXPECT_EQ(folder.first, 3);
  EXPECT_NE(folder.second.find("the folder " + path + "/runs cannot be made: "), std::string::npos) << folder.second;
  const auto data = told(lab({runFile({{"data", {{"kind", "npz"}, {"path", "none.npz"}}}})}));
  EXPECT_EQ(data.first, 3);
  EXPECT_NE(data.second.find("there is no file " + (folder_ / "none.npz").string()), std::string::npos) << data.second;
}

// The user's data, from the folder of the run.
TEST_F(Lab, AnNpzBesideTheRunIsLearned) {
  std::vector<double> x, y;
  for (int i = 0; i < 200; ++i) {
    x.insert(x.end(), {static_cast<double>(i % 7), static_cast<double>(i % 3)});
    y.push_back(i % 2);
  }
  const auto array = [](graph::Shape shape, const std::vector<double>& values) {
    return run::fromDoubles(graph::DType::Float64, std::move(shape), values);
  };
  ASSERT_TRUE(run::writeNpz(folder_ / "data.npz", {{"x", array({200, 2}, x)}, {"y", array({200}, y)}}));
  const auto result = lab({runFile({{"data", {{"kind", "npz"}, {"path", "data.npz"}}}}), "--json"});
  EXPECT_EQ(result.status, 0) << result.err;
}

// Trained both ways, exported: of the one all norms fold, of the other there is none left to fold.
TEST_F(Lab, ExportedTransformersAreWhatTheyAreTrainedAs) {
  const json transformer = {{"architecture", "pre_norm_transformer"},
                            {"layers", {2}},
                            {"epochs", 2},
                            {"batch", 4},
                            {"steps_per_epoch", 4},
                            {"context", 16},
                            {"heads", 2},
                            {"random_affine", true},
                            {"networks", {"layer_norm", "cbwc_rms_norm"}},
                            {"data", {{"kind", "characters"}, {"samples", 4000}}}};
  const std::string folder = out("runs");
  const json report = reported(lab({runFile(transformer), "-o", folder, "--json"}));
  ASSERT_EQ(report["weights"].size(), 2U);
  const auto analyzed = [&](const std::string& network) {
    const std::string model = folder + "/" + network + "_2x16_seed1_float32.pt";
    return reported(test::runProgram(ENGINE_PROGRAM, {"analyze", model, "--json"}));
  };
  const json normal = analyzed("layer_norm"), centered = analyzed("cbwc_rms_norm");
  EXPECT_EQ(normal["totals"]["layer_norms"], 5);
  EXPECT_EQ(normal["totals"]["free"], 5);
  EXPECT_EQ(normal["layer_norms"][0]["name"], "block_1_norm_1");
  EXPECT_EQ(centered["totals"]["layer_norms"], 0);
  EXPECT_EQ(centered["other_norms"].size(), 5U);
  for (const json& norm : centered["other_norms"]) EXPECT_EQ(norm["kind"], "RMSNorm");
}

}  // namespace
}  // namespace normlens::engine
