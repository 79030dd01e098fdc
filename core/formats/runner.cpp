#include "core/formats/runner.h"

#include <charconv>

namespace normlens::formats {
namespace {

constexpr std::string_view kCpu = "cpu", kCuda = "cuda";

}  // namespace

std::string deviceName(const RunSettings& settings) {
  if (settings.device == Device::Cpu) return std::string(kCpu);
  return std::string(kCuda) + (settings.gpu == 0 ? "" : ":" + std::to_string(settings.gpu));
}

bool setDevice(RunSettings& settings, std::string_view name) {
  int gpu = 0;
  const bool cuda = name.starts_with(kCuda);
  if (cuda && name.size() > kCuda.size()) {
    const std::string_view number = name.substr(kCuda.size());
    const char* end = number.data() + number.size();
    const auto [stop, error] = std::from_chars(number.data() + 1, end, gpu);
    if (number.front() != ':' || error != std::errc() || stop != end || gpu < 0 || gpu > INT8_MAX) return false;
  }
  if (!cuda && name != kCpu) return false;
  settings.device = cuda ? Device::Cuda : Device::Cpu;
  settings.gpu = gpu;
  return true;
}

}  // namespace normlens::formats
