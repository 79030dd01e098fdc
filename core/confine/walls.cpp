#include "core/confine/walls.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/landlock.h>
#include <linux/prctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fstream>
#include <iterator>
#include <set>
#include <string>

#include "core/base/descriptor.h"
#include "core/base/machine.h"
#include "core/confine/system_calls.h"

namespace normlens::confine {
namespace {

namespace fs = std::filesystem;

// These are newer than the oldest headers that we build with.
constexpr uint64_t kRefer = 1ULL << 13, kTruncate = 1ULL << 14, kIoctlDevice = 1ULL << 15;
constexpr uint64_t kBindTcp = 1, kConnectTcp = 2;
constexpr uint64_t kScopeSockets = 1, kScopeSignals = 2;
struct RulesetAttributes {
  uint64_t files, network, scoped;
};

constexpr uint64_t kReadFile = LANDLOCK_ACCESS_FS_READ_FILE;
constexpr uint64_t kRead = kReadFile | LANDLOCK_ACCESS_FS_READ_DIR;
constexpr uint64_t kMakeFile =
    kRead | LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_MAKE_REG | LANDLOCK_ACCESS_FS_REMOVE_FILE | kTruncate;
constexpr uint64_t kUseDevice = kReadFile | LANDLOCK_ACCESS_FS_WRITE_FILE | kIoctlDevice;

int landlockVersion() {
  return static_cast<int>(::syscall(__NR_landlock_create_ruleset, nullptr, 0, LANDLOCK_CREATE_RULESET_VERSION));
}

uint64_t rightsOf(int version) {
  uint64_t rights = (1ULL << 13) - 1;
  if (version >= 2) rights |= kRefer;
  if (version >= 3) rights |= kTruncate;
  if (version >= 5) rights |= kIoctlDevice;
  return rights;
}

class Ruleset {
 public:
  explicit Ruleset(int version) : rights_(rightsOf(version)) {
    const RulesetAttributes attributes{rights_, kBindTcp | kConnectTcp, kScopeSockets | kScopeSignals};
    const size_t known = version >= 6 ? sizeof attributes : version >= 4 ? 2 * sizeof(uint64_t) : sizeof(uint64_t);
    ruleset_.reset(static_cast<int>(::syscall(__NR_landlock_create_ruleset, &attributes, known, 0)));
  }
  // A path that does not exist needs no rule.
  void allow(const fs::path& path, uint64_t access) {
    const Descriptor at(::open(path.c_str(), O_PATH | O_CLOEXEC));
    struct stat info {};
    if (!at || ::fstat(at.get(), &info) != 0) return;
    if (!S_ISDIR(info.st_mode)) access &= ~static_cast<uint64_t>(LANDLOCK_ACCESS_FS_READ_DIR);
    const landlock_path_beneath_attr rule{access & rights_, at.get()};
    ::syscall(__NR_landlock_add_rule, ruleset_.get(), LANDLOCK_RULE_PATH_BENEATH, &rule, 0);
  }
  [[nodiscard]] bool enforce() const {
    return ruleset_ && ::syscall(__NR_landlock_restrict_self, ruleset_.get(), 0) == 0;
  }

 private:
  uint64_t rights_;
  Descriptor ruleset_;
};

// Keeps variables that control the system's, LibTorch's, ONNX Runtime's and CUDA's libraries, and how we print.
bool isForModels(std::string_view name) {
  // libgomp would end the process where a thread may not choose the processor of another (system_calls.cpp).
  constexpr std::array<std::string_view, 4> kBind = {"OMP_PROC_BIND", "OMP_PLACES", "GOMP_CPU_AFFINITY",
                                                     "KMP_AFFINITY"};
  if (std::ranges::count(kBind, name) > 0) return false;
  constexpr std::array<std::string_view, 10> kNames = {"HOME", "TMPDIR",  "LANG",     "LANGUAGE",    "TZ",
                                                       "TERM", "COLUMNS", "NO_COLOR", "MALLOC_CONF", "GLIBC_TUNABLES"};
  constexpr std::array<std::string_view, 24> kPrefixes = {
      "LC_",       "LD_",   "MALLOC_",      "NORMLENS_", "OMP_",    "GOMP_",  "KMP_",    "MKL_",
      "OPENBLAS_", "GOTO_", "BLIS_",        "ATEN_",     "C10_",    "DNNL_",  "ONEDNN_", "TORCH_",
      "PYTORCH_",  "ORT_",  "ONNXRUNTIME_", "CUDA_",     "CUBLAS_", "CUDNN_", "NVRTC_",  "NVIDIA_"};
  const auto begins = [&](std::string_view prefix) { return name.starts_with(prefix); };
  return std::ranges::count(kNames, name) > 0 || std::ranges::any_of(kPrefixes, begins) ||
         name.ends_with("SAN_OPTIONS");
}

// Passwords and tokens are handed down in variables. Their text is overwritten: /proc/self/environ shows it.
void forgetVariables() {
  for (char** entry = environ; *entry != nullptr;) {
    const std::string_view whole(*entry);
    if (isForModels(whole.substr(0, whole.find('=')))) {
      ++entry;
      continue;
    }
    std::memset(*entry, 0, whole.size());
    for (char** at = entry; *at != nullptr; ++at) *at = *std::next(at);
  }
}

// The driver's libraries load others of theirs when CUDA starts.
void loadDriver() {
  for (const char* name : {"libcuda.so.1", "libnvidia-ml.so.1"}) ::dlopen(name, RTLD_LAZY | RTLD_LOCAL);
}

constexpr std::array kSystemFolders = {"/lib", "/lib64", "/usr/lib", "/usr/lib64", "/usr/local/lib"};

bool isLibrary(const fs::path& file) {
  const std::string name = file.filename().string();
  return name.ends_with(".so") || name.find(".so.") != std::string::npos;
}

// Grants the libraries of a folder that may hold more. deep: folders below that are looked through as well.
void allowLibraries(Ruleset& rules, const fs::path& folder, int deep) {
  const auto holds = [&](const std::string& system) { return (folder / "").string().starts_with(system + "/"); };
  if (std::ranges::any_of(kSystemFolders, holds)) return;  // they are granted as a whole
  std::error_code error;
  fs::recursive_directory_iterator at(folder, fs::directory_options::skip_permission_denied, error);
  for (; !error && at != fs::recursive_directory_iterator(); at.increment(error)) {
    if (at.depth() >= deep) at.disable_recursion_pending();
    if (isLibrary(at->path()) && at->is_regular_file(error)) rules.allow(at->path(), kReadFile);
  }
}

// Beside the libraries that this process has loaded lie others of theirs. nvidia/: what the torch wheel's CUDA
// libraries need, two folders up from torch/lib.
void allowLibrariesOfProcess(Ruleset& rules) {
  std::set<fs::path> folders;
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    const size_t at = line.find('/');
    if (at != std::string::npos && isLibrary(line.substr(at))) folders.insert(fs::path(line.substr(at)).parent_path());
  }
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error), bin = program.parent_path();
  folders.insert(bin);
  rules.allow(program, kReadFile);
  allowLibraries(rules, bin.parent_path() / "lib", 1);
  for (const fs::path& folder : folders) {
    allowLibraries(rules, folder, 0);
    if (folder.filename() == "lib") allowLibraries(rules, folder.parent_path().parent_path() / "nvidia", 2);
  }
}

// Allows what cuInit opens, as public traces show it; SECURITY.md weighs each of these.
void letDriverWork(Ruleset& rules) {
  for (const fs::path& device : gpuDevices()) rules.allow(device, kUseDevice | kRead);
  for (const char* path : {"/proc/driver/nvidia", "/proc/driver/nvidia-uvm"}) rules.allow(path, kRead);
  for (const char* path : {"/proc/devices", "/proc/modules", "/proc/version", "/proc/sys/vm/mmap_min_addr"}) {
    rules.allow(path, kReadFile);
  }
  rules.allow("/proc/self/task", kRead | LANDLOCK_ACCESS_FS_WRITE_FILE);  // it names its threads (TID/comm)
  rules.allow("/usr/local/cuda", kRead);  // where CUDA's own libraries lie that the loader's cache names
}

bool hasOneThread() {
  std::error_code error;
  const fs::directory_iterator threads("/proc/self/task", error);
  return !error && std::distance(begin(threads), end(threads)) == 1;
}

bool raiseLandlock(const Walls& walls) {
  const int version = landlockVersion();
  if (version < 1) return false;
  Ruleset rules(version);
  allowLibrariesOfProcess(rules);
  for (const char* path : kSystemFolders) rules.allow(path, kRead);
  for (const char* path : {"/sys", "/proc/self"}) rules.allow(path, kRead);
  for (const char* path : {"/etc/ld.so.cache", "/proc/cpuinfo", "/proc/meminfo", "/proc/stat", "/dev/urandom",
                           "/dev/random", "/dev/zero"}) {
    rules.allow(path, kReadFile);
  }
  rules.allow("/dev/null", kUseDevice);
  if (!walls.scratch.empty()) rules.allow(walls.scratch, kMakeFile);
  if (walls.gpu) letDriverWork(rules);
  return rules.enforce();
}

// A model with many data files keeps each of them open.
void allowManyFiles() {
  rlimit files{};
  if (::getrlimit(RLIMIT_NOFILE, &files) != 0) return;
  files.rlim_cur = files.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &files);
}

void dropCapabilities() {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  const std::array<__user_cap_data_struct, 2> none{};
  ::syscall(__NR_capset, &header, none.data());
}

}  // namespace

std::string_view confinementName(Confinement level) {
  switch (level) {
    case Confinement::None:
      return "none";
    case Confinement::Calls:
      return "calls";
    case Confinement::Full:
      return "full";
  }
  return "none";
}

std::string_view whatIsMissing(Confinement level, bool gpu) {
  switch (level) {
    case Confinement::None:
      if (landlockVersion() >= 1) {
        return "this system offers no seccomp, so models are not confined: those that call anything but plain tensor "
               "operations are not run";
      }
      return "this system offers neither Landlock nor seccomp, so models are not confined: those that call anything "
             "but plain tensor operations are not run";
    case Confinement::Calls:
      if (gpu) {
        return "this system offers no Landlock, so a model that is run where a GPU may be used cannot send anything or "
               "make files, but could read and overwrite yours";
      }
      return "this system offers no Landlock, so a model that is run cannot write or send anything, but could read "
             "your files";
    case Confinement::Full:
      return "";
  }
  return "";
}

std::vector<std::string> missingWalls() {
  std::vector<std::string> missing;
  if (landlockVersion() < 1) missing.emplace_back("Landlock");
  if (!callsCanBeRefused()) missing.emplace_back("seccomp");
  return missing;
}

Confinement offeredConfinement() {
  if (!callsCanBeRefused()) return Confinement::None;
  return landlockVersion() >= 1 ? Confinement::Full : Confinement::Calls;
}

void limitMemory(pid_t process, int64_t bytes) {
  rlimit now{};
  if (!kMemoryIsLimited || ::prlimit(process, RLIMIT_DATA, nullptr, &now) != 0) return;
  const auto wanted = static_cast<rlim_t>(bytes);
  if (now.rlim_max != RLIM_INFINITY && now.rlim_max <= wanted) return;
  now.rlim_cur = now.rlim_max = wanted;
  ::prlimit(process, RLIMIT_DATA, &now, nullptr);
}

Confinement confineThisProcess(const Walls& walls, pid_t parent) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(0);  // it died before that
  constexpr rlimit kNone{0, 0};
  ::setrlimit(RLIMIT_CORE, &kNone);
  std::ofstream("/proc/self/oom_score_adj") << 1000;  // where memory runs out all the same, this process goes first
  if (walls.memoryBytes > 0) limitMemory(0, walls.memoryBytes);
  allowManyFiles();
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return Confinement::None;
  dropCapabilities();
  forgetVariables();
  if (walls.gpu) loadDriver();
  // Landlock holds for the calling thread alone: what a library has started meanwhile would stand outside.
  const bool files = hasOneThread() && raiseLandlock(walls);
  const bool calls = refuseCalls(!files, walls.gpu, walls.door);
  if (!calls) return Confinement::None;
  return files ? Confinement::Full : Confinement::Calls;
}

}  // namespace normlens::confine
