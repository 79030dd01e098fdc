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

void drain(FrameDecoder& decoder, Seen& seen) {
  while (auto frame = decoder.next()) {
    if (*frame) {
      seen.bodies.push_back(**frame);
    } else {
      seen.errors.push_back(frame->error().message);
    }
  }
}

Seen decodeAll(std::string_view stream, FrameDecoder decoder = FrameDecoder()) {
  Seen seen;
  decoder.feed(stream);
  drain(decoder, seen);
  return seen;
}

TEST(Framing, EncodesLengthInBytes) { EXPECT_EQ(encodeFrame("µ"), "Content-Length: 2\r\n\r\n\xC2\xB5"); }

TEST(Framing, EverySplitInTwoGivesTheSame) {
  const std::string stream = encodeFrame(R"({"a":1})") + encodeFrame("") +
                             encodeFrame("x\r\n\r\nContent-Length: 3\r\n") + encodeFrame(std::string(300, 'z'));
  const Seen whole = decodeAll(stream);
  ASSERT_EQ(whole.bodies.size(), 4U);
  ASSERT_TRUE(whole.errors.empty());
  for (size_t cut = 0; cut <= stream.size(); ++cut) {
    FrameDecoder decoder;
    Seen seen;
    decoder.feed(std::string_view(stream).substr(0, cut));
    drain(decoder, seen);
    decoder.feed(std::string_view(stream).substr(cut));
    drain(decoder, seen);
    EXPECT_EQ(seen, whole) << "cut at " << cut;
  }
}

TEST(Framing, OneByteAtATime) {
  const std::string stream = encodeFrame("first") + encodeFrame("second");
  FrameDecoder decoder;
  Seen seen;
  for (const char byte : stream) {
    decoder.feed(std::string_view(&byte, 1));
    drain(decoder, seen);
  }
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
      FrameDecoder decoder;
      Seen seen;
      decoder.feed(std::string_view(stream).substr(0, cut));
      drain(decoder, seen);
      decoder.feed(std::string_view(stream).substr(cut));
      drain(decoder, seen);
      EXPECT_EQ(seen.bodies, std::vector<std::string>{"good"}) << stream << " cut at " << cut;
      ASSERT_GE(seen.errors.size(), 1U) << stream;
      EXPECT_EQ(seen.errors[0].find("something that is no message came"), 0U) << seen.errors[0];
    }
  }
}

TEST(Framing, AnOversizedFrameIsSkippedWithoutBeingStored) {
  FrameDecoder decoder(/*maxFrameBytes=*/1000);
  Seen seen;
  decoder.feed("Content-Length: 5000000\r\n\r\n");
  drain(decoder, seen);
  const std::string chunk(10000, 'x');
  for (int i = 0; i < 500; ++i) {
    decoder.feed(chunk);
    drain(decoder, seen);
  }
  decoder.feed(encodeFrame("after"));
  drain(decoder, seen);
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
  EXPECT_EQ(decodeAll(encodeFrame("1234"), FrameDecoder(4)).bodies.size(), 1U);
  EXPECT_EQ(decodeAll(encodeFrame("12345"), FrameDecoder(4)).errors.size(), 1U);
}

TEST(Framing, AHeaderWithoutEndIsGivenUp) {
  FrameDecoder decoder;
  Seen seen;
  for (int i = 0; i < 100; ++i) {
    decoder.feed(std::string(1000, 'g'));
    drain(decoder, seen);
  }
  decoder.feed("\n" + encodeFrame("after"));
  drain(decoder, seen);
  EXPECT_EQ(seen.bodies, std::vector<std::string>{"after"});
  EXPECT_FALSE(seen.errors.empty());
}

}  // namespace
}  // namespace normlens::protocol
