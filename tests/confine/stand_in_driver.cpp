// libcuda.so.1 for tests: makes the system calls that public traces show of NVIDIA's driver in cuInit, and records how
// each went. No call is judged here: what the walls refuse is the difference to a process without walls.
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <sstream>
#include <string>
#include <thread>

namespace {

std::ostringstream calls;  // NOLINT(cppcoreguidelines-avoid-non-const-global-variables): read by the test

void record(const std::string& call, bool works) { calls << call << '=' << (works ? 0 : errno) << '\n'; }

void recordOpen(const std::string& path, int flags, const std::string& call = {}) {
  const int opened = ::open(path.c_str(), flags | O_CLOEXEC, 0600);
  record(call.empty() ? path : call, opened >= 0);
  if (opened >= 0) ::close(opened);
}

void readFacts() {
  for (const char* path : {"/proc/driver/nvidia/params", "/proc/driver/nvidia-uvm", "/proc/devices", "/proc/modules",
                           "/proc/self/maps", "/proc/self/status", "/proc/sys/vm/mmap_min_addr", "/proc/version",
                           "/proc/self/cgroup", "/proc/filesystems", "/sys/devices/system/memory/block_size_bytes"}) {
    recordOpen(path, O_RDONLY);
  }
  recordOpen("/sys/devices/system/node", O_RDONLY | O_DIRECTORY);
  recordOpen(std::string(::getenv("HOME")) + "/.nv/ComputeCache", O_RDONLY | O_DIRECTORY, "~/.nv/ComputeCache");
  struct stat info {};
  record("stat of nvidia-modprobe", ::stat("/usr/bin/nvidia-modprobe", &info) == 0);
}

void openDevices() {
  for (const char* path : {"/dev/nvidiactl", "/dev/nvidia0", "/dev/nvidia-uvm", "/dev/nvidia-uvm-tools"}) {
    recordOpen(path, O_RDWR);
  }
  recordOpen("/dev/shm/cuda.shm.0", O_RDWR | O_CREAT, "/dev/shm");
  ::unlink("/dev/shm/cuda.shm.0");
}

void lookForMps() {
  const int mps = ::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
  record("socket(AF_UNIX, SOCK_SEQPACKET)", mps >= 0);
  sockaddr_un address{AF_UNIX, "/tmp/nvidia-mps/control"};
  record("connect to MPS", ::connect(mps, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0);
  ::close(mps);
}

void takeMemory() {
  const int file = ::memfd_create("driver", MFD_CLOEXEC);
  record("memfd_create", file >= 0);
  record("ftruncate", ::ftruncate(file, 4096) == 0);
  const auto maps = [](size_t bytes, int access, int flags) {
    return ::mmap(nullptr, bytes, access, flags | MAP_ANONYMOUS, -1, 0) != MAP_FAILED;
  };
  constexpr size_t kGigabyte = size_t{1} << 30;
  record("mmap shared", maps(4096, PROT_READ | PROT_WRITE, MAP_SHARED));
  record("mmap 256 GB reserved", maps(256 * kGigabyte, PROT_NONE, MAP_PRIVATE | MAP_NORESERVE));
  record("mmap beyond the memory limit", maps(1024 * kGigabyte, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_NORESERVE));
  record("get_mempolicy", ::syscall(SYS_get_mempolicy, nullptr, nullptr, 0, nullptr, 0) == 0);
}

void nameThreads() {
  static int ends[2];
  record("pipe2", ::pipe2(ends, O_CLOEXEC) == 0);
  record("eventfd", ::eventfd(0, EFD_CLOEXEC) >= 0);
  pthread_t thread{};
  const auto waits = [](void*) -> void* {
    char byte = 0;
    static_cast<void>(::read(ends[0], &byte, 1));
    return nullptr;
  };
  errno = ::pthread_create(&thread, nullptr, waits, nullptr);
  record("pthread_create", errno == 0);
  errno = ::pthread_setname_np(thread, "cuda-EvtHandlr");  // writes /proc/self/task/TID/comm
  record("pthread_setname_np of another thread", errno == 0);
  ::close(ends[1]);
  ::pthread_join(thread, nullptr);
}

// The driver loads others of its libraries from where it lies.
void loadPart() {
  Dl_info own{};
  ::dladdr(reinterpret_cast<const void*>(&loadPart), &own);
  const std::string part =
      std::string(own.dli_fname).substr(0, std::string(own.dli_fname).rfind('/') + 1) + "libstand_in_driver_part.so";
  recordOpen(part, O_RDONLY, "a library beside libcuda.so.1");
  record("dlopen of it", ::dlopen(part.c_str(), RTLD_NOW) != nullptr);
}

// Drivers that begin to work while they are loaded, where a test asks for one.
[[gnu::constructor]] void begin() {
  if (::getenv("CUDA_STAND_IN_THREAD") != nullptr) std::thread([] { ::pause(); }).detach();
  if (::getenv("CUDA_STAND_IN_EXIT") != nullptr) ::_exit(0);
}

}  // namespace

extern "C" {

int cuInit(unsigned) {
  readFacts();
  openDevices();
  lookForMps();
  takeMemory();
  nameThreads();
  loadPart();
  return ::getenv("CUDA_STAND_IN_GPUS") == nullptr ? 304 : 0;  // CUDA_ERROR_OPERATING_SYSTEM
}

int cuDeviceGetCount(int* count) {
  *count = std::atoi(::getenv("CUDA_STAND_IN_GPUS"));
  return 0;
}

int cuDriverGetVersion(int* version) {
  *version = 12040;
  return 0;
}

int cuGetErrorName(int code, const char** name) {
  *name = "CUDA_ERROR_OPERATING_SYSTEM";
  return code == 304 ? 0 : 1;
}

// A line for each call: its name, =, the error number.
const char* standInDriverCalls() {
  static std::string text;
  text = calls.str();
  return text.c_str();
}

}  // extern "C"
