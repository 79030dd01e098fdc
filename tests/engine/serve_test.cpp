// The worker process, spoken to over its real pipes.
#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>
#include <stdexcept>

#include "core/protocol/framing.h"
#include "core/protocol/methods.h"
#include "core/protocol/rpc.h"
#include "tests/engine/run_program.h"
#include "tests/support/must.h"

namespace normlens::engine {
namespace {

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
  EXPECT_EQ(failure.message,
            "this engine speaks protocol " + std::to_string(kProtocolVersion) + " and the window protocol 999");
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

}  // namespace
}  // namespace normlens::engine
