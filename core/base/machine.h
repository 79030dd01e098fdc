// Describes the machine of a measurement, and how fast its clocks ran. Thread: any. Nothing here fails: what the
// machine does not report is empty or 0.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace normlens {

struct MachineFacts {
  std::string cpu;          // "Intel(R) Xeon(R) Platinum 8488C"
  int cores = 0;            // that may be used
  std::string system;       // "Linux 6.1.0"
  std::string gpu, driver;  // Describe one of CUDA's devices: "NVIDIA H200", "580.65".
};
// gpu: the number that CUDA has for the device. The facts of one that is not there are empty.
[[nodiscard]] MachineFacts machineFacts(int gpu = 0);

// The device nodes that NVIDIA's driver opens: /dev/nvidiactl, /dev/nvidia0, /dev/nvidia-caps, on WSL /dev/dxg. Empty:
// there is no driver.
[[nodiscard]] std::vector<std::filesystem::path> gpuDevices();

// Returns which GPU "cuda" (the first, 0) or "cuda:1" names; of "cpu" kNoGpu. nullopt: it names no device.
inline constexpr int kNoGpu = -1;
[[nodiscard]] std::optional<int> gpuNamed(std::string_view device);

struct ClockRates {
  double cpuMhz = 0;  // The fastest core's, now.
  double gpuMhz = 0;  // The multiprocessors' of one of CUDA's devices.
  double gpuMemoryMhz = 0;
};
class Nvml;
// One for a series of readings: where there is a GPU, making it takes much longer than a reading.
class ClockReader {
 public:
  explicit ClockReader(int gpu = 0);  // as above
  ~ClockReader();
  ClockReader(const ClockReader&) = delete;
  ClockReader& operator=(const ClockReader&) = delete;
  [[nodiscard]] ClockRates read() const;

 private:
  std::unique_ptr<Nvml> nvml_;
};

// Cores of this machine that the process may use, hyperthreads not counted; at least 1.
[[nodiscard]] int physicalCores();

// Bytes that the process may still take: of the machine, and of its control group. nullopt: not reported.
[[nodiscard]] std::optional<int64_t> availableMemory();
// Bytes of its own that this process may have in all, where it was given a limit.
[[nodiscard]] std::optional<int64_t> memoryLimit();
// Returns the bytes behind a line "name:   1234 kB" of a file of /proc.
[[nodiscard]] std::optional<int64_t> statusBytes(const char* file, const std::string& name);

}  // namespace normlens
