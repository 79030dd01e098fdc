#include "core/service/describe/engine_info.h"

#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <fstream>
#include <iterator>

#include "core/base/machine.h"
#include "core/formats/formats.h"

namespace normlens::service {
namespace {

// Second field of /proc/self/statm: resident pages.
int64_t residentBytes() {
  std::ifstream statm("/proc/self/statm");
  int64_t total = 0;
  int64_t resident = 0;
  statm >> total >> resident;
  return resident * sysconf(_SC_PAGESIZE);
}

}  // namespace

protocol::EngineInfo engineInfo() {
  protocol::EngineInfo info;
  info.version = NORMLENS_VERSION;
  for (const auto& format : formats::formats()) {
    std::string name = format.name;
    std::ranges::transform(name, name.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    (name == "onnx" ? info.onnx_runtime : info.torch) = format.runtime;
    info.formats.push_back(std::move(name));
  }
  static const std::string gpu = machineFacts().gpu;  // asked once: the window asks for the memory again and again
  info.device = gpu.empty() ? "CPU" : gpu;
  info.pid = getpid();
  info.memory_bytes = residentBytes();
  return info;
}

std::vector<std::filesystem::path> runtimeFolders() { return formats::runtimeFolders(); }

std::vector<std::string> executionProviders() {
  std::vector<std::string> all;
  for (auto& format : formats::formats()) std::ranges::move(format.providers, std::back_inserter(all));
  return all;
}

}  // namespace normlens::service
