#include "core/formats/runner.h"

#include "core/base/machine.h"

namespace normlens::formats {

std::string deviceName(const RunSettings& settings) {
  if (settings.device == Device::Cpu) return "cpu";
  return "cuda" + (settings.gpu == 0 ? "" : ":" + std::to_string(settings.gpu));
}

Status setDevice(RunSettings& settings, std::string_view name) {
  const auto gpu = gpuNamed(name);
  if (!gpu) return fail(ErrorCode::Usage, "there is no device '" + std::string(name) + "'", "cpu, cuda or cuda:1");
  settings.device = *gpu == kNoGpu ? Device::Cpu : Device::Cuda;
  settings.gpu = *gpu == kNoGpu ? 0 : *gpu;
  return {};
}

}  // namespace normlens::formats
