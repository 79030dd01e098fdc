// libcuda.so.1, as far as core/base/machine.cpp calls it.
#include <cstring>

#include "tests/base/gpus/gpus.h"

using normlens::test::gpus;

extern "C" {

int cuInit(unsigned) {
  ++gpus().cudaStarts;
  constexpr int kNoDevice = 100;  // CUDA_ERROR_NO_DEVICE
  return gpus().firstOfCuda.empty() ? kNoDevice : 0;
}

int cuDeviceGet(int* device, int ordinal) {
  *device = ordinal;
  return 0;
}

int cuDeviceGetPCIBusId(char* text, int size, int) {
  std::strncpy(text, gpus().firstOfCuda.c_str(), static_cast<size_t>(size) - 1);
  return 0;
}

}  // extern "C"
