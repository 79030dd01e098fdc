// The engine program as a user starts it, on the bundled models, in a folder that goes with the test.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "tests/engine/run_program.h"
#include "tests/support/temporary_folder.h"

namespace normlens::engine {

using nlohmann::json;
namespace fs = std::filesystem;

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

}  // namespace normlens::engine
