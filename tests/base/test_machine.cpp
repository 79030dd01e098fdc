// Which of several GPUs is named and clocked.
#include <gtest/gtest.h>

#include "core/base/machine.h"
#include "tests/base/gpus/gpus.h"

namespace normlens::test {
namespace {

const Gpu kSmall{"T400", "0000:01:00.0", 420};
const Gpu kLarge{"H200", "0000:41:00.0", 1980};

TEST(Machine, NamesAndClocksTheGpuThatCudaTakes) {
  gpus() = {.inOrderOfTheBus = {kSmall, kLarge}, .firstOfCuda = kLarge.busId};
  EXPECT_EQ(machineFacts().gpu, "H200");
  EXPECT_EQ(ClockReader().read().gpuMhz, 1980);
}

TEST(Machine, NamesTheFirstGpuWhereCudaDoesNotTell) {
  gpus() = {.inOrderOfTheBus = {kSmall, kLarge}, .firstOfCuda = ""};
  EXPECT_EQ(machineFacts().gpu, "T400");
  EXPECT_EQ(ClockReader().read().gpuMhz, 420);
}

TEST(Machine, NamesTheFirstGpuWhereNvmlDoesNotKnowCudas) {
  gpus() = {.inOrderOfTheBus = {kSmall, kLarge}, .firstOfCuda = "0000:99:00.0"};
  EXPECT_EQ(machineFacts().gpu, "T400");
}

TEST(Machine, DoesNotStartCudaForAnOnlyGpu) {
  gpus() = {.inOrderOfTheBus = {kLarge}, .firstOfCuda = kLarge.busId};
  EXPECT_EQ(machineFacts().gpu, "H200");
  EXPECT_EQ(gpus().cudaStarts, 0);
}

TEST(Machine, NamesNoGpuWhereThereIsNone) {
  gpus() = {};
  EXPECT_EQ(machineFacts().gpu, "");
  EXPECT_EQ(ClockReader().read().gpuMhz, 0);
}

}  // namespace
}  // namespace normlens::test
