#include "tests/bench/norms/machine.h"

#include <sys/utsname.h>

#include <cstdio>
#include <fstream>
#include <memory>

namespace normlens::bench {
namespace {

// One line of nvidia-smi; empty where there is none.
std::string askGpu(c10::Device device, const std::string& field) {
  const std::string command = "nvidia-smi --query-gpu=" + field + " --format=csv,noheader -i " +
                              std::to_string(device.has_index() ? device.index() : 0) + " 2>/dev/null";
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen(command.c_str(), "r"), &pclose);
  char line[256] = {};
  if (!pipe || !std::fgets(line, sizeof line, pipe.get())) return {};
  std::string text = line;
  while (!text.empty() && text.back() <= ' ') text.pop_back();
  return text;
}

// The first line of /proc/cpuinfo of that name.
std::string askProcessor(const std::string& name) {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);) {
    if (line.starts_with(name)) return line.substr(line.find(": ") + 2);
  }
  return {};
}

}  // namespace

std::string nameOf(c10::Device device) {
  return device.is_cuda() ? askGpu(device, "name") : askProcessor("model name");
}

std::string driverOf(c10::Device device) {
  if (device.is_cuda()) return askGpu(device, "driver_version");
  utsname system{};
  return uname(&system) == 0 ? std::string(system.sysname) + " " + system.release : std::string();
}

std::string clocksOf(c10::Device device) {
  return device.is_cuda() ? askGpu(device, "clocks.sm,clocks.mem") : askProcessor("cpu MHz") + " MHz";
}

}  // namespace normlens::bench
