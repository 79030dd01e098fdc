#include "core/service/engine_info.h"

#include <unistd.h>

#include <fstream>

#include "core/formats/torchscript/torch_version.h"

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
  info.torch = formats::torchscript::torchVersion();
  info.device = "CPU";
  info.pid = getpid();
  info.memory_bytes = residentBytes();
  return info;
}

}  // namespace normlens::service
