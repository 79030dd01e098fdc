#include "core/formats/runner.h"

#include <sched.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <set>

namespace normlens::formats {
namespace {

constexpr std::array<std::string_view, 2> kNames = {"cpu", "cuda"};  // by Device

// Of the core that a logical CPU belongs to; empty where the kernel does not tell.
std::string coreOf(int cpu) {
  const std::string folder = "/sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/topology/";
  std::string package, core;
  std::ifstream(folder + "physical_package_id") >> package;
  std::ifstream(folder + "core_id") >> core;
  return core.empty() ? "" : package + ":" + core;
}

}  // namespace

int physicalCores() {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return 1;
  std::set<std::string> cores;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (!CPU_ISSET(cpu, &allowed)) continue;
    const std::string core = coreOf(cpu);
    cores.insert(core.empty() ? "cpu " + std::to_string(cpu) : core);
  }
  return std::max(1, static_cast<int>(cores.size()));
}

std::string_view deviceName(Device device) { return kNames[static_cast<size_t>(device)]; }

std::optional<Device> deviceFromName(std::string_view name) {
  for (size_t i = 0; i < kNames.size(); ++i) {
    if (kNames[i] == name) return static_cast<Device>(i);
  }
  return std::nullopt;
}

}  // namespace normlens::formats
