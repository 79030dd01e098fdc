// libnvidia-ml.so.1, as far as core/base/machine.cpp calls it. A handle is a Gpu.
#include <algorithm>
#include <cstring>

#include "tests/base/gpus/gpus.h"

namespace normlens::test {

Gpus& gpus() {
  static Gpus machine;
  return machine;
}

}  // namespace normlens::test

using normlens::test::Gpu;
using normlens::test::gpus;

namespace {
constexpr int kNotFound = 6;  // NVML_ERROR_NOT_FOUND
}

extern "C" {
// NOLINTBEGIN(readability-identifier-naming): the driver's names

int nvmlInit_v2() { return 0; }
int nvmlShutdown() { return 0; }

int nvmlDeviceGetCount_v2(unsigned* count) {
  *count = static_cast<unsigned>(gpus().inOrderOfTheBus.size());
  return 0;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned index, void** device) {
  auto& all = gpus().inOrderOfTheBus;
  if (index >= all.size()) return kNotFound;
  *device = &all[index];
  return 0;
}

int nvmlDeviceGetHandleByPciBusId_v2(const char* busId, void** device) {
  auto& all = gpus().inOrderOfTheBus;
  const auto found = std::ranges::find(all, busId, &Gpu::busId);
  if (found == all.end()) return kNotFound;
  *device = &*found;
  return 0;
}

int nvmlDeviceGetName(void* device, char* text, unsigned size) {
  std::strncpy(text, static_cast<Gpu*>(device)->name.c_str(), size - 1);
  return 0;
}

int nvmlDeviceGetClockInfo(void* device, int, unsigned* mhz) {
  *mhz = static_cast<Gpu*>(device)->mhz;
  return 0;
}

// NOLINTEND(readability-identifier-naming)
}  // extern "C"
