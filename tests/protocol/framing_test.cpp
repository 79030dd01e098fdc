// The pieces of a stream become frames, and frames become requests and answers.
#include <gtest/gtest.h>

#include <vector>

#include "core/protocol/framing.h"
#include "core/protocol/rpc.h"

namespace normlens::protocol {
namespace {

struct Seen {
  std::vector<std::string> bodies;
  std::vector<std::string> errors;
  bool operator==(const Seen&) const = default;
};

// What comes of the pieces of a stream.
Seen decoded(const std::vector<std::string>& pieces, FrameDecoder decoder = FrameDecoder()) {
  Seen seen;
  for (const std::string& piece : pieces) {
    decoder.feed(piece);
    while (auto frame = decoder.next()) {
      if (*frame) {
        seen.bodies.push_back(**frame);
      } else {
        seen.errors.push_back(frame->error().message);
      }
    }
  }
  return seen;
}

TEST(Framing, EncodesLengthInBytes) { EXPECT_EQ(encodeFrame("µ"), "Content-Length: 2\r\n\r\n\xC2\xB5"); }

TEST(Framing, EverySplitInTwoGivesTheSame) {
  const std::string stream = encodeFrame(R"({"a":1})") + encodeFrame("") +
                             encodeFrame("x\r\n\r\nContent-Length: 3\r\n") + encodeFrame(std::string(300, 'z'));
  const Seen whole = decoded({stream});
  ASSERT_EQ(whole.bodies.size(), 4U);
  ASSERT_TRUE(whole.errors.empty());
  for (size_t cut = 0; cut <= stream.size(); ++cut)
    EXPECT_EQ(decoded({stream.substr(0, cut), stream.substr(cut)}), whole) << "cut at " << cut;
}

TEST(Framing, OneByteAtATime) {
  const std::string stream = encodeFrame("first") + encodeFrame("second");
  std::vector<std::string> bytes;
  for (const char byte : stream) bytes.emplace_back(1, byte);
  const Seen seen = decoded(bytes);
  EXPECT_EQ(seen.bodies, (std::vector<std::string>{"first", "second"}));
  EXPECT_TRUE(seen.errors.empty());
}

TEST(Framing, BadHeadersAreReportedAndTheNextFrameIsRead) {
  for (const std::string noise :
       {"a library prints\n", "no newline ", "Content-Type: x\r\n\r\n", "Content-Length: -1\r\n\r\n",
        "Content-Length: 12x\r\n\r\n", "Content-Length: 99999999999999999999\r\n\r\n", "Content-Length:\r\n\r\n",
        "content-length: 4\r\n\r\n", "Content-Length: 4\n\n"}) {
    const std::string stream = noise + encodeFrame("good");
    for (size_t cut = 0; cut <= stream.size(); ++cut) {
      const Seen seen = decoded({stream.substr(0, cut), stream.substr(cut)});
      EXPECT_EQ(seen.bodies, std::vector<std::string>{"good"}) << stream << " cut at " << cut;
      ASSERT_GE(seen.errors.size(), 1U) << stream;
      EXPECT_EQ(seen.errors[0].find("something that is no message came"), 0U) << seen.errors[0];
    }
  }
}

TEST(Framing, AnOversizedFrameIsSkippedWithoutBeingStored) {
  std::vector<std::string> pieces(501, std::string(10000, 'x'));
  pieces.front() = "Content-Length: 5000000\r\n\r\n";
  pieces.push_back(encodeFrame("after"));
  const Seen seen = decoded(pieces, FrameDecoder(/*maxFrameBytes=*/1000));
  EXPECT_EQ(seen.bodies, std::vector<std::string>{"after"});
  EXPECT_EQ(seen.errors, std::vector<std::string>{"a message of 5000000 bytes is too large and was skipped"});
}

TEST(Framing, WhatIsMissingOfAMessageIsKnown) {
  FrameDecoder decoder;
  EXPECT_FALSE(decoder.within());
  decoder.feed("Content-Length: 3\r\n\r\nab");
  EXPECT_FALSE(decoder.next());
  EXPECT_TRUE(decoder.within());
  decoder.feed("c");
  EXPECT_TRUE(decoder.next());
  EXPECT_FALSE(decoder.within());
}

TEST(Framing, TheCapIsInclusive) {
  EXPECT_EQ(decoded({encodeFrame("1234")}, FrameDecoder(4)).bodies.size(), 1U);
  EXPECT_EQ(decoded({encodeFrame("12345")}, FrameDecoder(4)).errors.size(), 1U);
}

TEST(Framing, AHeaderWithoutEndIsGivenUp) {
  std::vector<std::string> pieces(100, std::string(1000, 'g'));
  pieces.push_back("\n" + encodeFrame("after"));
  const Seen seen = decoded(pieces);
  EXPECT_EQ(seen.bodies, std::vector<std::string>{"after"});
  EXPECT_FALSE(seen.errors.empty());
}

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
