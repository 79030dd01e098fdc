#include "app/engine/frame_relay.h"

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
