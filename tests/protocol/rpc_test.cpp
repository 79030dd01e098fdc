#include "core/protocol/rpc.h"

#include <gtest/gtest.h>

namespace normlens::protocol {
namespace {

TEST(Rpc, RequestRoundTrip) {
  PlanParams params;
  params.policy = Policy::All;
  const auto message = parseMessage(requestBody(7, "plan", toJson(params)));
  ASSERT_TRUE(message);
  EXPECT_TRUE(message->isRequest());
  EXPECT_EQ(message->id, 7);
  EXPECT_EQ(message->method, "plan");
  EXPECT_EQ(decode<PlanParams>(message->params)->policy, Policy::All);
}

TEST(Rpc, NotificationAndRepliesRoundTrip) {
  const auto note = parseMessage(notificationBody("$/progress", toJson(Progress{})));
  ASSERT_TRUE(note);
  EXPECT_FALSE(note->isRequest());
  EXPECT_FALSE(note->isReply());

  const auto result = parseMessage(resultBody(9, nullptr));
  ASSERT_TRUE(result);
  EXPECT_TRUE(result->isReply());
  EXPECT_EQ(result->id, 9);
  EXPECT_FALSE(result->failure);

  const Error error{ErrorCode::Unreadable, "no such file: a.pt", {"give another", HintKey::Inputs}};
  const auto failure = parseMessage(failureBody(9, rpcFailure(error)));
  ASSERT_TRUE(failure && failure->failure);
  EXPECT_EQ(failure->failure->code, RpcError::EngineError);
  EXPECT_EQ(failure->failure->message, error.message);
  EXPECT_EQ(failure->failure->errorCode, "unreadable");
  EXPECT_EQ(failure->failure->hint, error.hint);
}

TEST(Rpc, CancelledHasItsOwnCode) {
  EXPECT_EQ(rpcFailure(Error{ErrorCode::Cancelled, "stopped", ""}).code, RpcError::RequestCancelled);
}

TEST(Rpc, RejectsWhatIsNoMessage) {
  struct Row {
    const char* body;
    RpcError code;
    std::optional<int64_t> id;
  };
  const Row rows[] = {
      {"{", RpcError::ParseError, std::nullopt},
      {"", RpcError::ParseError, std::nullopt},
      {"\xff\xfe", RpcError::ParseError, std::nullopt},
      {"[1]", RpcError::InvalidRequest, std::nullopt},
      {R"({"id":4})", RpcError::InvalidRequest, 4},
      {R"({"id":4,"method":7})", RpcError::InvalidRequest, 4},
      {R"({"id":4,"method":""})", RpcError::InvalidRequest, 4},
      {R"({"id":"four","method":"open"})", RpcError::InvalidRequest, std::nullopt},
  };
  for (const Row& row : rows) {
    const auto message = parseMessage(row.body);
    ASSERT_FALSE(message) << row.body;
    EXPECT_EQ(message.error().failure.code, row.code) << row.body;
    EXPECT_EQ(message.error().id, row.id) << row.body;
  }
}

TEST(Rpc, DeepNestingDoesNotOverflow) { EXPECT_FALSE(parseMessage(std::string(1000000, '['))); }

// Parsing is iterative; copying and destroying what was parsed is not.
TEST(Rpc, ADeepMessageIsRefusedWhole) {
  const std::string deep(100000, '['), end(100000, ']');
  const auto message = parseMessage(R"({"id":1,"result":)" + deep + end + "}");
  ASSERT_FALSE(message);
  EXPECT_EQ(message.error().failure.message, "the message is nested more than 64 deep");
}

}  // namespace
}  // namespace normlens::protocol
