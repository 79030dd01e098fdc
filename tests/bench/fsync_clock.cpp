// The writing of the exported file ends with an fsync, whose time is the disk's: it is printed apart. This definition
// takes the place of libc's in this program and times the system call.
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>

#include "tests/bench/timing.h"

namespace {
std::atomic<double> fsyncMs = 0.0;  // NOLINT(cppcoreguidelines-avoid-non-const-global-variables): fsync() is one, too

int timedSync(long call, int descriptor) {
  int result = 0;
  const double ms = normlens::bench::elapsedMs([&] { result = static_cast<int>(syscall(call, descriptor)); });
  fsyncMs.fetch_add(ms);
  return result;
}
}  // namespace

extern "C" int fsync(int descriptor) { return timedSync(SYS_fsync, descriptor); }
extern "C" int fdatasync(int descriptor) { return timedSync(SYS_fdatasync, descriptor); }

double normlens::bench::takeFsyncMs() { return fsyncMs.exchange(0.0); }
