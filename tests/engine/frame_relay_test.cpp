#include "app/engine/serve/frame_relay.h"

#include <gtest/gtest.h>

#include "core/protocol/framing.h"

namespace normlens::engine::test {
namespace {

TEST(FrameRelay, HandsOnWhatIsAFrameAndNothingElse) {
  FrameRelay relay;
  std::string out;
  const std::string frame = protocol::encodeFrame("{\"a\": 1}");
  for (const char c : "noise\r\n\r\n" + frame + frame) relay.feed({&c, 1}, out);
  EXPECT_EQ(out, frame + frame);
  EXPECT_TRUE(relay.between());
}

TEST(FrameRelay, FillsUpTheFrameOfAProcessThatDied) {
  FrameRelay relay;
  std::string out;
  relay.feed("Content-Length: 10\r\n\r\n{\"a\"", out);
  EXPECT_FALSE(relay.between());
  EXPECT_TRUE(relay.end(out));
  EXPECT_EQ(out, "Content-Length: 10\r\n\r\n{\"a\"      ");
  EXPECT_TRUE(relay.between());
}

TEST(FrameRelay, KnowsWhatWholeFramesAnswer) {
  FrameRelay relay;
  std::string out;
  const std::string frame = protocol::encodeFrame("{}");
  const protocol::Answered result{7, true}, failure{-8, false}, cut{9, true};
  relay.feed(FrameRelay::marked(frame, &result) + FrameRelay::marked(frame, nullptr), out);
  relay.feed(FrameRelay::marked(frame, &failure), out);
  std::string begun = FrameRelay::marked(frame, &cut);
  begun.pop_back();
  relay.feed(begun, out);
  EXPECT_TRUE(relay.end(out));
  EXPECT_EQ(out, frame + frame + frame + protocol::encodeFrame("{ "));
  const auto answered = relay.takeAnswered();
  ASSERT_EQ(answered.size(), 2U);
  EXPECT_EQ(answered[0].id, 7);
  EXPECT_TRUE(answered[0].withResult);
  EXPECT_EQ(answered[1].id, -8);
  EXPECT_FALSE(answered[1].withResult);
  EXPECT_TRUE(relay.takeAnswered().empty());
}

TEST(FrameRelay, DoesNotFillUpWhateverLengthWasClaimed) {
  FrameRelay relay;
  std::string out;
  relay.feed("Content-Length: 1000000000\r\n\r\n{", out);
  EXPECT_FALSE(relay.end(out));
  EXPECT_LT(out.size(), 100U);
  EXPECT_FALSE(relay.between());
}

}  // namespace
}  // namespace normlens::engine::test
