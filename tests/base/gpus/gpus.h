// A machine with GPUs, as the two libraries of NVIDIA's driver tell of it. A program that is linked with them gets them
// from dlopen as well.
#pragma once

#include <string>
#include <vector>

namespace normlens::test {

struct Gpu {
  std::string name;
  std::string busId;
  unsigned mhz;
};

struct Gpus {
  std::vector<Gpu> inOrderOfTheBus;  // as NVML counts them
  std::vector<std::string> ofCuda;   // bus ids, as CUDA counts them; empty where it sees none
  int cudaStarts = 0;
};
Gpus& gpus();  // in nvml.cpp

}  // namespace normlens::test
