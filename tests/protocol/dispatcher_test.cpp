#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>

#include "core/protocol/bench_messages.h"
#include "core/protocol/dispatcher.h"
#include "core/protocol/progress_throttle.h"

namespace normlens::protocol {
namespace {

class FakeClient {
 public:
  Transport transport() {
    return {.read = [this] { return read(); },
            .write = [this](std::string_view body, const Answered* /*answers*/) { write(encodeFrame(body)); },
            .log = [this](std::string_view line) { log(line); }};
  }

  void request(int64_t id, std::string_view method, const nlohmann::json& params = nullptr) {
    sendBody(requestBody(id, method, params));
  }
  void cancel(int64_t id) { sendBody(notificationBody(methods::kCancel, {{"id", id}})); }
  void sendBody(std::string_view body) { sendBytes(encodeFrame(body)); }
  void sendBytes(std::string_view bytes) {
    const std::lock_guard lock(mutex_);
    toEngine_ += bytes;
    changed_.notify_all();
  }
  void close() {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    changed_.notify_all();
  }

  // The next message of the engine, whatever it is.
  RpcMessage take() {
    std::unique_lock lock(mutex_);
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    for (;;) {
      if (auto frame = fromEngine_.next()) {
        if (!*frame) throw std::runtime_error("the engine wrote no frame: " + frame->error().message);
        auto message = parseMessage(**frame);
        if (!message) throw std::runtime_error("the engine wrote no message: " + **frame);
        return *message;
      }
      if (changed_.wait_until(lock, deadline) == std::cv_status::timeout) throw std::runtime_error("no answer in 10 s");
    }
  }
  // The next reply; notifications before it are dropped.
  RpcMessage takeReply() {
    for (;;) {
      RpcMessage message = take();
      if (message.isReply()) return message;
    }
  }
  std::string logged() {
    const std::lock_guard lock(mutex_);
    return log_;
  }

 private:
  std::string read() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return closed_ || !toEngine_.empty(); });
    return std::exchange(toEngine_, {});
  }
  void write(std::string_view bytes) {
    const std::lock_guard lock(mutex_);
    fromEngine_.feed(bytes);
    changed_.notify_all();
  }
  void log(std::string_view line) {
    const std::lock_guard lock(mutex_);
    log_ += std::string(line) + "\n";
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::string toEngine_;
  FrameDecoder fromEngine_;
  std::string log_;
  bool closed_ = false;
};

using nlohmann::json;
using namespace std::chrono_literals;

constexpr Method<CenterParams, void> kAnswersNull{"answers_null"};

// A dispatcher with a few handlers, served on a thread of its own.
class DispatcherTest : public ::testing::Test {
 protected:
  void SetUp() override {
    dispatcher_.bind(methods::kInitialize, [](const InitializeParams& p, const Task&) {
      if (p.protocol != kProtocolVersion) return Result<EngineInfo>(fail(ErrorCode::Unsupported, "other protocol"));
      EngineInfo info;
      info.version = "test";
      return Result<EngineInfo>(info);
    });
    dispatcher_.bind(methods::kZeroMeanGraph, [](const NormParams& p, const Task&) {
      ZeroMeanGraph graph;
      graph.norm = p.norm;
      return Result<ZeroMeanGraph>(graph);
    });
    // Runs until it is cancelled.
    dispatcher_.bind(methods::kAnalyze, [this](const AnalyzeParams&, const Task& task) {
      running_ = true;
      while (!task.cancelled() && !released_) std::this_thread::sleep_for(1ms);
      running_ = false;
      if (task.cancelled() && !deaf_) return Result<Analysis>(fail(ErrorCode::Cancelled, "stopped on request"));
      return Result<Analysis>(Analysis{});
    });
    dispatcher_.bind(methods::kOpen, [](const OpenParams& p, const Task&) {
      return Result<ModelInfo>(fail(ErrorCode::Unreadable, "no such file: " + p.path, "check the path"));
    });
    dispatcher_.bind(methods::kPlan,
                     [](const PlanParams&, const Task&) -> Result<PlanInfo> { throw std::runtime_error("a defect"); });
    dispatcher_.bind(kAnswersNull, [](const CenterParams&, const Task&) { return Status(); });
    dispatcher_.bind(methods::kBench, [](const BenchParams& p, const Task& task) {
      for (int i = 0; i < p.rounds; ++i) task.report("measuring", i / static_cast<double>(p.rounds));
      return Result<BenchResult>(BenchResult{});
    });
    dispatcher_.bind(methods::kExport,
                     [](const ExportParams&, const Task&, int64_t id, const Dispatcher::Notify& notify) {
                       notify("$/told", {{"id", id}});
                       return Result<ExportResult>(ExportResult{});
                     });
    dispatcher_.hear<LabControl>(methods::kLabControl, [this](const LabControl& control) {
      released_ = control.what == lab::RunWish::Continue;
    });
    server_ = std::thread([this] { end_ = dispatcher_.serve(5s); });
  }
  void TearDown() override {
    client_.close();
    if (server_.joinable()) server_.join();
  }

  void initialize() {
    client_.request(1, methods::kInitialize, toJson(InitializeParams{}));
    ASSERT_FALSE(client_.takeReply().failure);
  }
  // With a request 2 that runs until it is cancelled.
  void initializeAndRun() {
    initialize();
    client_.request(2, methods::kAnalyze);
    waitUntilRunning();
  }
  void waitUntilRunning() {
    for (int i = 0; i < 10000 && !running_; ++i) std::this_thread::sleep_for(1ms);
    ASSERT_TRUE(running_);
  }

  FakeClient client_;
  Dispatcher dispatcher_{client_.transport()};
  std::atomic<bool> running_ = false;
  std::atomic<bool> released_ = false;
  std::atomic<bool> deaf_ = false;
  std::thread server_;
  ServeEnd end_ = ServeEnd::Stuck;
};

TEST_F(DispatcherTest, NothingBeforeInitialize) {
  client_.request(1, methods::kZeroMeanGraph, {{"norm", 1}});
  const RpcMessage refused = client_.takeReply();
  ASSERT_TRUE(refused.failure);
  EXPECT_EQ(refused.failure->code, RpcError::NotInitialized);

  client_.request(2, methods::kInitialize, {{"protocol", 99}});
  EXPECT_EQ(client_.takeReply().failure->errorCode, "unsupported");
  client_.request(3, methods::kZeroMeanGraph);
  EXPECT_EQ(client_.takeReply().failure->code, RpcError::NotInitialized);

  client_.request(4, methods::kInitialize, toJson(InitializeParams{}));
  EXPECT_EQ(decode<EngineInfo>(client_.takeReply().result)->version, "test");
  client_.request(5, methods::kInitialize, toJson(InitializeParams{}));
  EXPECT_EQ(client_.takeReply().failure->code, RpcError::InvalidRequest);
}

TEST_F(DispatcherTest, RepliesComeInOrder) {
  initialize();
  for (int i = 0; i < 50; ++i) client_.request(100 + i, methods::kZeroMeanGraph, {{"norm", i}});
  for (int i = 0; i < 50; ++i) {
    const RpcMessage reply = client_.takeReply();
    EXPECT_EQ(reply.id, 100 + i);
    EXPECT_EQ(decode<ZeroMeanGraph>(reply.result)->norm, i);
  }
}

TEST_F(DispatcherTest, AnswersUnknownMethodsWrongParamsAndErrors) {
  initialize();
  client_.request(2, "no_such_method");
  RpcMessage reply = client_.takeReply();
  EXPECT_EQ(reply.failure->code, RpcError::MethodNotFound);
  EXPECT_EQ(reply.failure->message, "no method no_such_method");

  client_.request(3, methods::kZeroMeanGraph, {{"norm", "first"}});
  reply = client_.takeReply();
  EXPECT_EQ(reply.failure->code, RpcError::InvalidParams);
  EXPECT_EQ(reply.failure->message, "zero_mean_graph: norm must be a whole number");

  client_.request(4, methods::kZeroMeanGraph, json::array({1}));
  EXPECT_EQ(client_.takeReply().failure->message, "zero_mean_graph: the message must be an object");

  client_.request(5, methods::kOpen, {{"path", "a.pt"}});
  reply = client_.takeReply();
  EXPECT_EQ(reply.failure->code, RpcError::EngineError);
  EXPECT_EQ(reply.failure->errorCode, "unreadable");
  EXPECT_EQ(reply.failure->message, "no such file: a.pt");
  EXPECT_EQ(reply.failure->hint, "check the path");

  client_.request(6, methods::kPlan);
  reply = client_.takeReply();
  EXPECT_EQ(reply.failure->code, RpcError::InternalError);
  EXPECT_EQ(reply.failure->message, "plan failed: a defect");

  client_.request(7, kAnswersNull);
  reply = client_.takeReply();
  EXPECT_FALSE(reply.failure);
  EXPECT_TRUE(reply.result.is_null());
}

TEST_F(DispatcherTest, BodiesThatAreNoMessageAreAnsweredAndSkipped) {
  initialize();
  client_.sendBody("{not json");
  RpcMessage reply = client_.take();
  EXPECT_EQ(reply.failure->code, RpcError::ParseError);
  EXPECT_FALSE(reply.id);
  client_.sendBytes("some print\n");
  client_.request(2, methods::kZeroMeanGraph);
  EXPECT_EQ(client_.takeReply().id, 2);
  EXPECT_NE(client_.logged().find("some print"), std::string::npos);
}

TEST_F(DispatcherTest, CancelsTheRunningRequest) {
  initializeAndRun();
  client_.cancel(2);
  const RpcMessage reply = client_.takeReply();
  EXPECT_EQ(reply.id, 2);
  EXPECT_EQ(reply.failure->code, RpcError::RequestCancelled);
  client_.request(2, methods::kZeroMeanGraph, {{"norm", 5}});  // the id is free again
  EXPECT_EQ(decode<ZeroMeanGraph>(client_.takeReply().result)->norm, 5);
}

TEST_F(DispatcherTest, CancelsAWaitingRequestWithoutWaiting) {
  initializeAndRun();
  client_.request(3, methods::kZeroMeanGraph);
  client_.cancel(3);
  const RpcMessage cancelled = client_.takeReply();
  EXPECT_EQ(cancelled.id, 3);
  EXPECT_EQ(cancelled.failure->code, RpcError::RequestCancelled);
  EXPECT_TRUE(running_);
  released_ = true;
  EXPECT_EQ(client_.takeReply().id, 2);
}

TEST_F(DispatcherTest, CancelOfAnUnknownOrMalformedIdIsIgnored) {
  initialize();
  client_.cancel(77);
  client_.sendBody(notificationBody(methods::kCancel, {{"id", "x"}}));
  client_.sendBody(notificationBody(methods::kCancel, nullptr));
  client_.sendBody(notificationBody("$/unknown", nullptr));
  client_.request(2, methods::kZeroMeanGraph);
  EXPECT_FALSE(client_.takeReply().failure);
}

TEST_F(DispatcherTest, ProgressIsThrottledAndNamesItsRequest) {
  initialize();
  client_.request(2, methods::kBench, {{"rounds", 100000}});
  int notes = 0;
  for (;;) {
    const RpcMessage message = client_.take();
    if (message.isReply()) break;
    ++notes;
    EXPECT_EQ(message.method, methods::kProgress);
    const auto progress = decode<Progress>(message.params);
    EXPECT_EQ(progress->id, 2);
    EXPECT_EQ(progress->stage, "measuring");
  }
  EXPECT_GE(notes, 1);
  EXPECT_LE(notes, 200);  // 20 a second, however slow this machine is
}

TEST_F(DispatcherTest, AHandlerMayTellThingsWhileItRuns) {
  initialize();
  client_.request(2, methods::kExport);
  const RpcMessage told = client_.take();
  EXPECT_EQ(told.method, "$/told");
  EXPECT_EQ(told.params["id"], 2);
  EXPECT_TRUE(client_.takeReply().result.is_object());
}

TEST_F(DispatcherTest, APingIsAnsweredAtOnceWhateverRuns) {
  client_.request(1, methods::kPing);  // before initialize, too
  EXPECT_EQ(client_.takeReply().id, 1);
  client_.request(2, methods::kInitialize, toJson(InitializeParams{}));
  EXPECT_EQ(client_.takeReply().id, 2);
  client_.request(3, methods::kAnalyze);
  waitUntilRunning();
  client_.request(4, methods::kPing);
  const RpcMessage reply = client_.takeReply();
  EXPECT_EQ(reply.id, 4);
  EXPECT_TRUE(reply.result.is_null() && !reply.failure);
  EXPECT_TRUE(running_);
  released_ = true;
  EXPECT_EQ(client_.takeReply().id, 3);
}

TEST_F(DispatcherTest, ANotificationIsHeardWhileARequestRuns) {
  initializeAndRun();
  client_.sendBody(notificationBody(methods::kLabControl, {{"what", 3}}));  // is not understood
  client_.sendBody(notificationBody(methods::kLabControl, toJson(LabControl{.what = lab::RunWish::Continue})));
  EXPECT_EQ(client_.takeReply().id, 2);
  EXPECT_NE(client_.logged().find("$/labControl: what must be"), std::string::npos) << client_.logged();
}

TEST_F(DispatcherTest, ShutdownStopsWhatRunsAndAnswers) {
  initializeAndRun();
  client_.request(3, methods::kZeroMeanGraph);
  client_.request(4, methods::kShutdown);
  EXPECT_EQ(client_.takeReply().failure->code, RpcError::RequestCancelled);
  EXPECT_EQ(client_.takeReply().failure->code, RpcError::RequestCancelled);
  const RpcMessage reply = client_.takeReply();
  EXPECT_EQ(reply.id, 4);
  EXPECT_TRUE(reply.result.is_null() && !reply.failure);
  server_.join();
  EXPECT_EQ(end_, ServeEnd::Shutdown);
}

TEST_F(DispatcherTest, TheEndOfTheStreamStopsWhatRuns) {
  initializeAndRun();
  client_.close();
  server_.join();
  EXPECT_EQ(end_, ServeEnd::StreamEnded);
  EXPECT_FALSE(running_);
}

TEST(ProgressThrottleTest, TwentyASecond) {
  ProgressThrottle throttle;
  const ProgressThrottle::Clock::time_point start{};
  int sameStage = 0;
  for (int ms = 0; ms < 1000; ++ms) sameStage += throttle.admit("a", start + std::chrono::milliseconds(ms));
  EXPECT_EQ(sameStage, 20);
  int newStages = 0;
  for (int ms = 2000; ms < 3000; ++ms) {
    newStages += throttle.admit("stage " + std::to_string(ms), start + std::chrono::milliseconds(ms));
  }
  EXPECT_EQ(newStages, 20);
}

TEST(ProgressThrottleTest, ANewStageGoesOutAtOnce) {
  ProgressThrottle throttle;
  const ProgressThrottle::Clock::time_point now{};
  EXPECT_TRUE(throttle.admit("a", now));
  EXPECT_FALSE(throttle.admit("a", now));
  EXPECT_TRUE(throttle.admit("b", now));
}

}  // namespace
}  // namespace normlens::protocol
