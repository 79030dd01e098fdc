#include <gtest/gtest.h>

#include <future>
#include <thread>

#include "core/lab/train.h"

namespace normlens::lab {
namespace {

TEST(PauseSwitch, HoldsUntilItGoesOnOrStops) {
  PauseSwitch pause;
  std::stop_source stop;
  pause.wait(stop.get_token());  // is off: returns
  pause.pause();
  EXPECT_TRUE(pause.paused());
  auto waiting = std::async(std::launch::async, [&] { pause.wait(stop.get_token()); });
  EXPECT_EQ(waiting.wait_for(std::chrono::milliseconds(50)), std::future_status::timeout);
  pause.goOn();
  waiting.get();
  pause.pause();
  waiting = std::async(std::launch::async, [&] { pause.wait(stop.get_token()); });
  stop.request_stop();
  waiting.get();
  EXPECT_TRUE(pause.paused());
}

}  // namespace
}  // namespace normlens::lab
