// Measures what other processes take of the processors during a measurement.
#pragma once

#include <chrono>
#include <string>

namespace normlens {

// Seconds of processor time, over all cores, since some moment.
struct CpuTimes {
  double everybody = 0;  // with what the host of a virtual machine took away
  double own = 0;        // This process's share.
};

// Reads the first line of /proc/stat, which counts in ticks; returns 0 for any other line.
[[nodiscard]] double busySeconds(const std::string& line, double ticksPerSecond);

// Returns how many cores others kept busy over `seconds`; 0 where nobody else did, or the system does not report it.
[[nodiscard]] double otherCores(const CpuTimes& before, const CpuTimes& after, double seconds);

// With so many cores of others there are too few for as many threads; what a desktop does by itself does not count.
[[nodiscard]] bool isCrowded(double otherCores, int threads, int cores);

// Counts from its construction. Thread: any. In a container it sees the whole machine.
class OtherLoad {
 public:
  OtherLoad();
  [[nodiscard]] double cores() const;

 private:
  CpuTimes before_;
  std::chrono::steady_clock::time_point start_;
};

}  // namespace normlens
