#include "core/base/cpu_load.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <sstream>

namespace normlens {
namespace {

double seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
}

CpuTimes cpuTimes() {
  CpuTimes times;
  std::ifstream file("/proc/stat");
  std::string line;
  std::getline(file, line);
  times.everybody = busySeconds(line, static_cast<double>(sysconf(_SC_CLK_TCK)));
  if (rusage used{}; getrusage(RUSAGE_SELF, &used) == 0) times.own = seconds(used.ru_utime) + seconds(used.ru_stime);
  return times;
}

}  // namespace

double busySeconds(const std::string& line, double ticksPerSecond) {
  std::istringstream words(line);
  std::string name;
  double user = 0, nice = 0, system = 0, idle = 0, waiting = 0, interrupts = 0, softInterrupts = 0, stolen = 0;
  words >> name >> user >> nice >> system >> idle >> waiting >> interrupts >> softInterrupts >> stolen;
  if (!words || name != "cpu" || ticksPerSecond <= 0) return 0;
  return (user + nice + system + interrupts + softInterrupts + stolen) / ticksPerSecond;
}

double otherCores(const CpuTimes& before, const CpuTimes& after, double seconds) {
  if (seconds <= 0) return 0;
  const double everybody = after.everybody - before.everybody, own = after.own - before.own;
  return std::max(0.0, (everybody - own) / seconds);
}

bool isCrowded(double otherCores, int threads, int cores) {
  constexpr double kDesktop = 0.25;
  return otherCores + threads > cores + kDesktop;
}

OtherLoad::OtherLoad() : before_(cpuTimes()), start_(std::chrono::steady_clock::now()) {}

double OtherLoad::cores() const {
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start_;
  return otherCores(before_, cpuTimes(), elapsed.count());
}

}  // namespace normlens
