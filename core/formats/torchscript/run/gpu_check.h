// Tries a GPU with what a measurement needs of it. Private to formats/torchscript.
#pragma once

#include <string>

#include "core/formats/gpu_check.h"

namespace normlens::formats::torchscript {

// All steps, on the first GPU that CUDA shows. Seconds, most of them for loading libraries. Thread: any.
[[nodiscard]] GpuCheck checkGpu();

// The steps from GpuStep::Memory on, on a device whose backend is loaded, by torch's name of it ("cpu").
[[nodiscard]] GpuCheck checkDevice(const std::string& device);

}  // namespace normlens::formats::torchscript
