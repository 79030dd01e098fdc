#include "core/formats/runner.h"

#include "core/base/machine.h"

namespace normlens::formats {

std::string deviceName(const RunSettings& settings) {
  if (settings.device == Device::Cpu) return "cpu";
  return "cuda" + (settings.gpu == 0 ? "" : ":" + std::to_string(settings.gpu));
}

bool setDevice(RunSettings& settings, std::string_view name) {
  const auto gpu = gpuNamed(name);
  if (!gpu) return false;
  settings.device = *gpu == kNoGpu ? Device::Cpu : Device::Cuda;
  settings.gpu = *gpu == kNoGpu ? 0 : *gpu;
  return true;
}

}  // namespace normlens::formats
