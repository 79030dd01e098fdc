#include "core/service/describe/engine_info.h"

#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <fstream>

#include "core/base/machine.h"
#include "core/base/run_watch.h"
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

std::string whyNoGpu(const MachineFacts& facts) {
  if (facts.driver.empty()) return "No NVIDIA driver was found. Install it (Debian: nvidia-driver) and look again.";
  return "The NVIDIA driver " + facts.driver + " is there, but no GPU answers: see nvidia-smi, CUDA_VISIBLE_DEVICES.";
}

}  // namespace

protocol::EngineInfo engineInfo() {
  protocol::EngineInfo info;
  info.version = NORMLENS_VERSION;
  for (const auto& format : formats::formats()) {
    std::string name = format.name;
    std::ranges::transform(name, name.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    (name == "onnx" ? info.onnx_runtime : info.torch) = format.runtime.value_or("");
    info.formats.push_back(std::move(name));
  }
  static const MachineFacts facts = machineFacts();  // read once: the window requests the memory again and again
  info.device = facts.gpu.empty() ? "CPU" : facts.gpu;
  if (facts.gpu.empty()) info.no_gpu = whyNoGpu(facts);
  info.pid = getpid();
  info.memory_bytes = residentBytes();
  return info;
}

Result<protocol::GpuCheck> checkGpu() {
  const RunWatch watch(RunWatch::Kind::Run);
  ASSIGN_OR_RETURN(const auto check, formats::checkGpu());
  protocol::GpuCheck found;
  for (const formats::GpuStepResult& result : check) {
    const Error error = result.outcome ? Error{ErrorCode::Internal, {}, {}} : result.outcome.error();
    found.steps.push_back(
        {std::string(formats::gpuStepName(result.step)), result.ms, error.message, error.hint.text()});
  }
  return found;
}

void loadRuntimes() { formats::loadRuntimes(); }

void loadTorch() { formats::loadTorch(); }

Result<std::vector<std::string>> executionProviders() {
  for (auto& format : formats::formats()) {
    if (format.name != "ONNX") continue;
    RETURN_IF_ERROR(format.runtime);
    return std::move(format.providers);
  }
  return std::vector<std::string>();
}

}  // namespace normlens::service
