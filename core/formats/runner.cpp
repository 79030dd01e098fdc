#include "core/formats/runner.h"

#include <array>

namespace normlens::formats {
namespace {

constexpr std::array<std::string_view, 2> kNames = {"cpu", "cuda"};  // by Device

}  // namespace

std::string_view deviceName(Device device) { return kNames[static_cast<size_t>(device)]; }

std::optional<Device> deviceFromName(std::string_view name) {
  for (size_t i = 0; i < kNames.size(); ++i) {
    if (kNames[i] == name) return static_cast<Device>(i);
  }
  return std::nullopt;
}

}  // namespace normlens::formats
