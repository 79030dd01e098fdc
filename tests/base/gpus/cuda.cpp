// libcuda.so.1, as far as core/base/machine.cpp calls it.
#include <cstring>

#include "tests/base/gpus/gpus.h"

using normlens::test::gpus;

extern "C" {

int cuInit(unsigned) {
  ++gpus().cudaStarts;
  constexpr int kNoDevice = 100;  // CUDA_ERROR_NO_DEVICE
  return gpus().ofCuda.empty() ? kNoDevice : 0;
}

int cuDeviceGet(int* device, int ordinal) {
  *device = ordinal;
  constexpr int kInvalidDevice = 101;  // CUDA_ERROR_INVALID_DEVICE
  return static_cast<size_t>(ordinal) < gpus().ofCuda.size() ? 0 : kInvalidDevice;
}

int cuDeviceGetPCIBusId(char* text, int size, int device) {
  std::strncpy(text, gpus().ofCuda[static_cast<size_t>(device)].c_str(), static_cast<size_t>(size) - 1);
  return 0;
}

}  // extern "C"
