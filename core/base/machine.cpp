#include "core/base/machine.h"

#include <dlfcn.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/utsname.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <fstream>
#include <set>
#include <string>

namespace normlens {
namespace {

template <class Signature>
Signature* functionIn(void* library, const char* symbol) {
  return reinterpret_cast<Signature*>(dlsym(library, symbol));
}

// Returns the bus id of a CUDA device: CUDA_VISIBLE_DEVICES and CUDA_DEVICE_ORDER choose it, which NVML ignores. Empty
// where CUDA reports none. The driver, once started, stays loaded.
std::string busIdOfCudaDevice(int number) {
  void* const driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (!driver) return "";
  const auto start = functionIn<int(unsigned)>(driver, "cuInit");
  const auto get = functionIn<int(int*, int)>(driver, "cuDeviceGet");
  const auto busId = functionIn<int(char*, int, int)>(driver, "cuDeviceGetPCIBusId");
  if (!start || !get || !busId || start(0) != 0) return "";
  int device = 0;
  std::array<char, 32> text{};
  if (get(&device, number) != 0 || busId(text.data(), static_cast<int>(text.size()), device) != 0) return "";
  return text.data();
}

}  // namespace

// NVIDIA's management library, which comes with the driver: a C interface, loaded where it is there.
class Nvml {
 public:
  // gpu: CUDA's number of it.
  explicit Nvml(int gpu) : library_(dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL)) {
    if (!library_) return;
    const auto init = call<int()>("nvmlInit_v2");
    ready_ = init && init() == 0;
    if (ready_ && !(several() && findCudaDevice(gpu)) && gpu == 0) findFirst();
  }
  ~Nvml() {
    if (const auto end = ready_ ? call<int()>("nvmlShutdown") : nullptr) end();
    if (library_) dlclose(library_);
  }
  Nvml(const Nvml&) = delete;
  Nvml& operator=(const Nvml&) = delete;

  [[nodiscard]] std::string name() const { return text("nvmlDeviceGetName", device_); }
  [[nodiscard]] std::string driver() const { return text("nvmlSystemGetDriverVersion"); }
  static constexpr int kMultiprocessors = 1;  // NVML_CLOCK_SM
  static constexpr int kMemory = 2;           // NVML_CLOCK_MEM
  [[nodiscard]] double megahertz(int clock) const {
    unsigned mhz = 0;
    const auto get = device_ ? call<int(void*, int, unsigned*)>("nvmlDeviceGetClockInfo") : nullptr;
    return get && get(device_, clock, &mhz) == 0 ? mhz : 0;
  }

 private:
  template <class Signature>
  [[nodiscard]] Signature* call(const char* symbol) const {
    return functionIn<Signature>(library_, symbol);
  }

  template <class... Of>
  [[nodiscard]] std::string text(const char* symbol, Of... of) const {
    std::array<char, 128> text{};
    const auto get = device_ ? call<int(Of..., char*, unsigned)>(symbol) : nullptr;
    return get && get(of..., text.data(), static_cast<unsigned>(text.size())) == 0 ? text.data() : std::string();
  }

  // With one GPU there is nothing to choose, and starting CUDA takes long.
  [[nodiscard]] bool several() const {
    unsigned count = 0;
    const auto get = call<int(unsigned*)>("nvmlDeviceGetCount_v2");
    return get && get(&count) == 0 && count > 1;
  }
  bool findCudaDevice(int gpu) {
    const std::string busId = busIdOfCudaDevice(gpu);
    const auto find = call<int(const char*, void**)>("nvmlDeviceGetHandleByPciBusId_v2");
    return !busId.empty() && find && find(busId.c_str(), &device_) == 0;
  }
  void findFirst() {
    const auto find = call<int(unsigned, void**)>("nvmlDeviceGetHandleByIndex_v2");
    if (!find || find(0, &device_) != 0) device_ = nullptr;
  }

  void* library_ = nullptr;
  void* device_ = nullptr;
  bool ready_ = false;
};

namespace {

// Uses the value of every line "name : value" of /proc/cpuinfo.
template <class Use>
void eachCpuLine(const std::string& name, const Use& use) {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    const size_t colon = line.find(": ");
    if (line.starts_with(name) && colon != std::string::npos) use(line.substr(colon + 2));
  }
}

// Returns the core that a logical CPU belongs to; empty where the kernel does not report it.
std::string coreOf(int cpu) {
  const std::string folder = "/sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/topology/";
  std::string package, core;
  std::ifstream(folder + "physical_package_id") >> package;
  std::ifstream(folder + "core_id") >> core;
  return core.empty() ? "" : package + ":" + core;
}

}  // namespace

std::vector<std::filesystem::path> gpuDevices() {
  std::vector<std::filesystem::path> found;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator("/dev", ignored)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with("nvidia") || name == "dxg") found.push_back(entry.path());
  }
  return found;
}

std::optional<int> gpuNamed(std::string_view device) {
  constexpr std::string_view kCuda = "cuda";
  if (device == "cpu") return kNoGpu;
  if (device == kCuda) return 0;
  if (!device.starts_with(kCuda)) return std::nullopt;
  const std::string_view number = device.substr(kCuda.size());
  const char* end = number.data() + number.size();
  int gpu = 0;
  const auto [stop, error] = std::from_chars(number.data() + 1, end, gpu);
  if (number.front() != ':' || error != std::errc() || stop != end || gpu < 0 || gpu > INT8_MAX) return std::nullopt;
  return gpu;
}

MachineFacts machineFacts(int gpu) {
  MachineFacts facts;
  eachCpuLine("model name", [&](const std::string& name) { facts.cpu = name; });
  facts.cores = physicalCores();
  if (utsname system{}; uname(&system) == 0) facts.system = std::string(system.sysname) + " " + system.release;
  const Nvml nvml(gpu);
  facts.gpu = nvml.name();
  facts.driver = nvml.driver();
  return facts;
}

ClockReader::ClockReader(int gpu) : nvml_(std::make_unique<Nvml>(gpu)) {}
ClockReader::~ClockReader() = default;

ClockRates ClockReader::read() const {
  ClockRates rates;
  eachCpuLine("cpu MHz", [&](const std::string& mhz) { rates.cpuMhz = std::max(rates.cpuMhz, std::stod(mhz)); });
  rates.gpuMhz = nvml_->megahertz(Nvml::kMultiprocessors);
  rates.gpuMemoryMhz = nvml_->megahertz(Nvml::kMemory);
  return rates;
}

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

std::optional<int64_t> statusBytes(const char* file, const std::string& name) {
  constexpr int64_t kKibibyte = 1024;
  std::ifstream stream(file);
  for (std::string word; stream >> word;) {
    if (word != name) continue;
    int64_t count = 0;
    if (stream >> count) return count * kKibibyte;
  }
  return std::nullopt;
}

std::optional<int64_t> availableMemory() {
  const auto number = [](const char* file) -> std::optional<int64_t> {
    std::ifstream stream(file);
    int64_t value = 0;
    return stream >> value ? std::optional(value) : std::nullopt;
  };
  auto available = statusBytes("/proc/meminfo", "MemAvailable:");
  const auto limit = number("/sys/fs/cgroup/memory.max");
  const auto used = number("/sys/fs/cgroup/memory.current");
  if (available && limit && used) available = std::min(*available, std::max<int64_t>(0, *limit - *used));
  return available;
}

std::optional<int64_t> memoryLimit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_DATA, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return std::nullopt;
  return static_cast<int64_t>(limit.rlim_cur);
}

}  // namespace normlens
