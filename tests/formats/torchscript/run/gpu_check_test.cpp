// The steps of a check that need no GPU, on the CPU.
#include "core/formats/torchscript/run/gpu_check.h"

#include <gtest/gtest.h>

namespace normlens::formats::torchscript {
namespace {

TEST(GpuCheck, TriesADeviceStepByStepAndStopsAtTheFirstThatFails) {
  const GpuCheck check = checkDevice("cpu");
  ASSERT_EQ(check.size(), 4U);
  for (size_t i = 0; i < check.size(); ++i) {
    EXPECT_EQ(static_cast<size_t>(check[i].step), static_cast<size_t>(GpuStep::Memory) + i);
    EXPECT_GE(check[i].ms, 0);
  }
  for (size_t i = 0; i < 3; ++i) EXPECT_TRUE(check[i].outcome) << check[i].outcome.error().message;
  EXPECT_FALSE(check[3].outcome);  // the CPU has no CUDA graphs
  const GpuCheck none = checkDevice("cuda:0");
  ASSERT_EQ(none.size(), 1U);  // this process has not loaded CUDA
  EXPECT_FALSE(none[0].outcome);
  EXPECT_EQ(none[0].outcome.error().message.find('\n'), std::string::npos);
}

}  // namespace
}  // namespace normlens::formats::torchscript
