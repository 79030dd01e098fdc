#include "core/protocol/framing.h"

#include <gtest/gtest.h>

#include <vector>

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

}  // namespace
}  // namespace normlens::protocol
