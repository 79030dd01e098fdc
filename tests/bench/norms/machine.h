// What a measurement was made on.
#pragma once

#include <c10/core/Device.h>

#include <string>

namespace normlens::bench {

[[nodiscard]] std::string nameOf(c10::Device device);    // of the GPU or the processor
[[nodiscard]] std::string driverOf(c10::Device device);  // of the GPU; else the kernel's release
[[nodiscard]] std::string clocksOf(c10::Device device);  // at this moment, with their unit

}  // namespace normlens::bench
