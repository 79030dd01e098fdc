#include "core/run/machine.h"

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <memory>

#include "core/formats/runner.h"

namespace normlens::run {
namespace {

// The value of a line "name : value" of /proc/cpuinfo, for every such line.
template <class Use>
void eachCpuLine(const std::string& name, const Use& use) {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    const size_t colon = line.find(": ");
    if (line.starts_with(name) && colon != std::string::npos) use(line.substr(colon + 2));
  }
}

// NVIDIA's management library, which comes with the driver: a C interface, loaded where it is there.
class Nvml {
 public:
  Nvml() : library_(dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL)) {
    if (!library_) return;
    const auto init = call<int()>("nvmlInit_v2");
    const auto first = call<int(unsigned, void**)>("nvmlDeviceGetHandleByIndex_v2");
    ready_ = init && init() == 0;
    if (!ready_ || !first || first(0, &device_) != 0) device_ = nullptr;
  }
  ~Nvml() {
    if (const auto end = ready_ ? call<int()>("nvmlShutdown") : nullptr) end();
    if (library_) dlclose(library_);
  }
  Nvml(const Nvml&) = delete;
  Nvml& operator=(const Nvml&) = delete;

  [[nodiscard]] std::string name() const {
    std::array<char, 128> text{};
    const auto get = device_ ? call<int(void*, char*, unsigned)>("nvmlDeviceGetName") : nullptr;
    return get && get(device_, text.data(), static_cast<unsigned>(text.size())) == 0 ? text.data() : std::string();
  }
  [[nodiscard]] std::string driver() const {
    std::array<char, 128> text{};
    const auto get = device_ ? call<int(char*, unsigned)>("nvmlSystemGetDriverVersion") : nullptr;
    return get && get(text.data(), static_cast<unsigned>(text.size())) == 0 ? text.data() : std::string();
  }
  [[nodiscard]] double megahertz() const {
    constexpr int kMultiprocessors = 1;  // NVML_CLOCK_SM
    unsigned mhz = 0;
    const auto get = device_ ? call<int(void*, int, unsigned*)>("nvmlDeviceGetClockInfo") : nullptr;
    return get && get(device_, kMultiprocessors, &mhz) == 0 ? mhz : 0;
  }

 private:
  template <class Signature>
  [[nodiscard]] Signature* call(const char* symbol) const {
    return reinterpret_cast<Signature*>(dlsym(library_, symbol));
  }

  void* library_ = nullptr;
  void* device_ = nullptr;
  bool ready_ = false;
};

}  // namespace

MachineFacts machineFacts() {
  MachineFacts facts;
  eachCpuLine("model name", [&](const std::string& name) { facts.cpu = name; });
  facts.cores = formats::physicalCores();
  const Nvml nvml;
  facts.gpu = nvml.name();
  facts.driver = nvml.driver();
  return facts;
}

ClockRates clockRates() {
  ClockRates rates;
  eachCpuLine("cpu MHz", [&](const std::string& mhz) { rates.cpuMhz = std::max(rates.cpuMhz, std::stod(mhz)); });
  rates.gpuMhz = Nvml().megahertz();
  return rates;
}

}  // namespace normlens::run
