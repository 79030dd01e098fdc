// Which of several GPUs is named and clocked.
#include <gtest/gtest.h>

#include "core/base/machine.h"
#include "tests/base/gpus/gpus.h"

namespace normlens::test {
namespace {

const Gpu kSmall{"T400", "0000:01:00.0", 420};
const Gpu kLarge{"H200", "0000:41:00.0", 1980};

TEST(Machine, NamesAndClocksTheGpuThatCudaTakes) {
  gpus() = {.inOrderOfTheBus = {kSmall, kLarge}, .ofCuda = {kLarge.busId}};
  EXPECT_EQ(machineFacts().gpu, "H200");
  EXPECT_EQ(ClockReader().read().gpuMhz, 1980);
}

TEST(Machine, NamesAndClocksAnotherGpuByCudasNumber) {
  gpus() = {.inOrderOfTheBus = {kSmall, kLarge}, .ofCuda = {kLarge.busId, kSmall.busId}};
  EXPECT_EQ(machineFacts(1).gpu, "T400");
  EXPECT_EQ(ClockReader(1).read().gpuMhz, 420);
  EXPECT_EQ(machineFacts(2).gpu, "") << "there is none";
  gpus() = {.inOrderOfTheBus = {kLarge}, .ofCuda = {kLarge.busId}};
  EXPECT_EQ(machineFacts(1).gpu, "");
}

TEST(Machine, NamesTheFirstGpuWhereCudaDoesNotTell) {
  gpus() = {.inOrderOfTheBus = {kSmall, kLarge}, .ofCuda = {}};
  EXPECT_EQ(machineFacts().gpu, "T400");
  EXPECT_EQ(ClockReader().read().gpuMhz, 420);
}

TEST(Machine, NamesTheFirstGpuWhereNvmlDoesNotKnowCudas) {
  gpus() = {.inOrderOfTheBus = {kSmall, kLarge}, .ofCuda = {"0000:99:00.0"}};
  EXPECT_EQ(machineFacts().gpu, "T400");
}

TEST(Machine, DoesNotStartCudaForAnOnlyGpu) {
  gpus() = {.inOrderOfTheBus = {kLarge}, .ofCuda = {kLarge.busId}};
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
