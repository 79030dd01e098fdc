// What a process behind the walls tries, and is refused; each row would succeed without them. And what NVIDIA's driver
// does in a worker that may use a GPU.
#include <dlfcn.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/fs.h>
#include <sched.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <sstream>
#include <thread>
#include <vector>

#include "core/base/descriptor.h"
#include "tests/confine/worker_fixture.h"

namespace normlens::confine {
namespace {

// Set before the worker is forked: a file of the user's, a folder of theirs, their process; that file, handed over to
// be read; the path of a socket that another process reads.
struct Target {
  std::string file, folder;
  pid_t process = 0;
  int handed = -1;
  std::string socket;
};

struct Attempt {
  const char* name;
  bool (*succeeds)(const Target& target);
  bool driverDoes = false;  // let in where a GPU may be used
};

bool opens(const std::string& path, int flags) {
  const int fd = ::open(path.c_str(), flags | O_CLOEXEC, 0600);
  if (fd >= 0) ::close(fd);
  return fd >= 0;
}

sockaddr_un addressOf(const Target& target) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  target.socket.copy(address.sun_path, sizeof address.sun_path - 1);
  return address;
}

// From one of a pair of sockets, of a kind that need not stay with its other end.
bool sendsFrom(int kind, const Target& target) {
  int ends[2];
  const sockaddr_un address = addressOf(target);
  return ::socketpair(AF_UNIX, kind, 0, ends) == 0 &&
         ::sendto(ends[0], "x", 1, 0, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 1;
}

// How a message is sent to an address that the walls cannot see: the refusal is of the call, not of the address.
bool sendsMessageFrom(int socket, const Target& target) {
  sockaddr_un address = addressOf(target);
  iovec part{const_cast<char*>("x"), 1};
  mmsghdr message{};
  message.msg_hdr.msg_name = &address, message.msg_hdr.msg_namelen = sizeof address;
  message.msg_hdr.msg_iov = &part, message.msg_hdr.msg_iovlen = 1;
  return ::sendmsg(socket, &message.msg_hdr, 0) == 1 || errno != EPERM || ::sendmmsg(socket, &message, 1, 0) == 1 ||
         errno != EPERM;
}

bool locks(int descriptor, int command) {
  struct flock whole {};
  whole.l_type = F_RDLCK;
  return ::fcntl(descriptor, command, &whole) == 0;
}

const Attempt kAttempts[] = {
    {"reads_etc_passwd", [](const Target&) { return opens("/etc/passwd", O_RDONLY); }},
    {"reads_a_file_of_the_user", [](const Target& t) { return opens(t.file, O_RDONLY); }},
    {"reads_it_through_proc", [](const Target& t) { return opens("/proc/self/root" + t.file, O_RDONLY); }},
    {"overwrites_it", [](const Target& t) { return opens(t.file, O_WRONLY); }},
    {"cuts_it_off_by_opening", [](const Target& t) { return opens(t.file, O_RDONLY | O_TRUNC); }},
    {"cuts_it_off", [](const Target& t) { return ::truncate(t.file.c_str(), 0) == 0; }},
    {"removes_it", [](const Target& t) { return ::unlink(t.file.c_str()) == 0; }},
    {"renames_it", [](const Target& t) { return ::rename(t.file.c_str(), (t.file + "2").c_str()) == 0; }},
    {"links_it", [](const Target& t) { return ::link(t.file.c_str(), (t.file + "3").c_str()) == 0; }},
    {"changes_its_mode", [](const Target& t) { return ::chmod(t.file.c_str(), 0777) == 0; }},
    {"changes_its_time", [](const Target& t) { return ::utimensat(AT_FDCWD, t.file.c_str(), nullptr, 0) == 0; }},
    {"makes_a_file", [](const Target& t) { return opens(t.folder + "/made", O_WRONLY | O_CREAT); }},
    {"makes_an_unnamed_file", [](const Target& t) { return opens(t.folder, O_TMPFILE | O_RDWR); }},
    {"makes_a_folder", [](const Target& t) { return ::mkdir((t.folder + "/made").c_str(), 0700) == 0; }},
    {"makes_a_link", [](const Target& t) { return ::symlink("/etc", (t.folder + "/made").c_str()) == 0; }},
    {"makes_a_pipe", [](const Target& t) { return ::mkfifo((t.folder + "/made").c_str(), 0600) == 0; }},
    {"writes_to_tmp", [](const Target&) { return opens("/tmp/normlens-made", O_WRONLY | O_CREAT); }},
    {"writes_to_shared_memory",
     [](const Target&) { return ::shm_open("/normlens-made", O_RDWR | O_CREAT, 0600) >= 0; }},
    {"makes_a_shared_segment", [](const Target&) { return ::shmget(IPC_PRIVATE, 4096, IPC_CREAT | 0600) >= 0; }},
    {"opens_a_tcp_socket", [](const Target&) { return ::socket(AF_INET, SOCK_STREAM, 0) >= 0; }},
    {"opens_a_udp_socket", [](const Target&) { return ::socket(AF_INET, SOCK_DGRAM, 0) >= 0; }},
    {"opens_a_unix_socket", [](const Target&) { return ::socket(AF_UNIX, SOCK_STREAM, 0) >= 0; }},
    {"makes_an_io_ring", [](const Target&) { return ::syscall(425, 1, nullptr) >= 0 || errno == EFAULT; }},
    {"starts_a_program",
     [](const Target&) {
       char* const arguments[] = {const_cast<char*>("true"), nullptr};
       ::execve("/bin/true", arguments, nullptr);
       return false;  // it would not come back; and another status would be seen
     }},
    {"forks", [](const Target&) { return ::fork() >= 0; }},
    {"forks_by_clone3", [](const Target&) { return ::syscall(435, nullptr, 0) >= 0 || errno != ENOSYS; }},
    {"kills_another", [](const Target& t) { return ::kill(t.process, 0) == 0; }},
    {"traces_another", [](const Target& t) { return ::ptrace(PTRACE_SEIZE, t.process, nullptr, nullptr) == 0; }},
    {"reads_anothers_memory",
     [](const Target& t) {
       char byte = 0;
       iovec here{&byte, 1}, there{const_cast<Target*>(&t), 1};
       return ::process_vm_readv(t.process, &here, 1, &there, 1, 0) == 1;
     }},
    {"opens_anothers_memory",
     [](const Target& t) { return opens("/proc/" + std::to_string(t.process) + "/mem", O_RDONLY); }},
    {"outlives_its_starter", [](const Target&) { return ::prctl(PR_SET_PDEATHSIG, 0) == 0; }},
    {"limits_another", [](const Target& t) { return ::prlimit(t.process, RLIMIT_CORE, nullptr, nullptr) == 0; }},
    {"has_another_signalled",
     [](const Target& t) {
       int ends[2];
       return ::pipe(ends) == 0 && ::fcntl(ends[0], F_SETOWN, t.process) == 0;
     }},
    {"schedules_another",
     [](const Target& t) {
       const sched_param none{};
       return ::sched_setscheduler(t.process, SCHED_OTHER, &none) == 0;
     }},
    {"uses_anothers_semaphore", [](const Target&) { return ::semop(-1, nullptr, 0) == 0 || errno != EPERM; }},
    {"opens_a_device_for_ioctl", [](const Target&) { return opens("/dev/null", O_ACCMODE); }},
    {"opens_by_flags_that_cannot_be_seen",
     [](const Target&) { return ::syscall(437, AT_FDCWD, "/dev/null", nullptr, 0) >= 0 || errno != ENOSYS; }},
    {"sets_an_attribute_by_a_young_call", [](const Target&) { return ::syscall(463) >= 0 || errno != ENOSYS; }},
    {"changes_the_mode_of_what_it_reads",
     [](const Target&) {
       const int fd = ::open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
       struct stat info {};
       return fd < 0 || (::fstat(fd, &info) == 0 && ::fchmod(fd, info.st_mode & 07777) == 0);
     }},
    {"cuts_off_what_it_writes",
     [](const Target&) {
       const std::string file = std::string(::getenv("TMPDIR")) + "/own";
       const int fd = ::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
       return fd < 0 || ::ftruncate(fd, 0) == 0 ||
              ::fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, 1) == 0;
     },
     true},
    {"changes_how_a_shared_descriptor_waits",
     [](const Target&) { return ::fcntl(STDOUT_FILENO, F_SETFL, O_NONBLOCK) == 0; }},
    {"asks_the_terminal_for_more",
     [](const Target&) { return ::ioctl(STDOUT_FILENO, TIOCGWINSZ, nullptr) == 0 || errno != EPERM; }},
    {"watches_a_folder",
     [](const Target& t) { return ::inotify_add_watch(::inotify_init1(0), t.folder.c_str(), IN_CREATE) >= 0; }},
    {"makes_a_file_of_memory", [](const Target&) { return ::memfd_create("made", 0) >= 0; }, true},
    {"takes_memory_that_is_not_counted",
     [](const Target&) {
       const auto gets = [](int flags) {
         return ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, flags | MAP_ANONYMOUS, -1, 0) != MAP_FAILED;
       };
       return gets(MAP_SHARED) || gets(MAP_PRIVATE | MAP_GROWSDOWN);
     },
     true},
    {"gets_a_user_namespace", [](const Target&) { return ::syscall(__NR_unshare, 0x10000000) == 0; }},
};

// What reaches another process, or an address, with what is in hand already. Each is tried without walls as well.
const Attempt kReaching[] = {
    {"moves_another_to_other_processors",
     [](const Target& t) {
       cpu_set_t all;
       return ::sched_getaffinity(t.process, sizeof all, &all) == 0 &&
              ::sched_setaffinity(t.process, sizeof all, &all) == 0;
     }},
    {"changes_anothers_niceness", [](const Target& t) { return ::setpriority(PRIO_PROCESS, t.process, 19) == 0; }},
    {"changes_anothers_turn_at_the_disk",
     [](const Target& t) { return ::syscall(__NR_ioprio_set, 1, t.process, 2 << 13) == 0; }},
    {"schedules_another_by_attributes",
     [](const Target& t) {
       alignas(8) char attributes[48]{};
       return ::syscall(__NR_sched_getattr, t.process, attributes, sizeof attributes, 0) == 0 &&
              ::syscall(__NR_sched_setattr, t.process, attributes, 0) == 0;
     }},
    {"shares_a_core_with_another",
     [](const Target& t) { return ::prctl(62, 2, t.process, 0, 0) == 0 || errno != EPERM; }},
    {"limits_anothers_files",
     [](const Target& t) {
       rlimit files{};
       return ::prlimit(t.process, RLIMIT_NOFILE, nullptr, &files) == 0 &&
              ::prlimit(t.process, RLIMIT_NOFILE, &files, nullptr) == 0;
     }},
    {"signals_another_thread", [](const Target& t) { return ::syscall(__NR_tgkill, t.process, t.process, 0) == 0; }},
    {"signals_by_thread_alone", [](const Target& t) { return ::syscall(__NR_tkill, t.process, 0) == 0; }},
    {"queues_a_signal",
     [](const Target& t) {
       siginfo_t info{};
       info.si_code = SI_QUEUE;
       return ::syscall(__NR_rt_sigqueueinfo, t.process, 0, &info) == 0;
     }},
    {"signals_its_group", [](const Target&) { return ::kill(0, 0) == 0; }},
    {"gets_hold_of_another", [](const Target& t) { return ::syscall(434, t.process, 0) >= 0; }},
    {"moves_anothers_pages",
     [](const Target& t) { return ::syscall(__NR_move_pages, t.process, 0, nullptr, nullptr, nullptr, 0) == 0; }},
    {"looks_where_anothers_locks_are",
     [](const Target& t) {
       void* head = nullptr;
       size_t size = 0;
       return ::syscall(__NR_get_robust_list, t.process, &head, &size) == 0;
     }},
    {"sends_a_datagram", [](const Target& t) { return sendsFrom(SOCK_DGRAM, t); }},
    {"sends_a_datagram_from_a_raw_socket", [](const Target& t) { return sendsFrom(SOCK_RAW, t); }},
    {"makes_sockets_of_another_family",
     [](const Target&) {
       int ends[2];
       return ::socketpair(30 /* AF_TIPC */, SOCK_DGRAM, 0, ends) == 0 || errno != EPERM;
     }},
    {"sends_messages_by_another_descriptor",
     [](const Target& t) {
       int ends[2];
       return ::pipe(ends) == 0 && sendsMessageFrom(ends[1], t);
     }},
    {"sends_to_an_address_by_the_upper_half",
     [](const Target&) {
       return ::syscall(__NR_sendto, -1, "x", 1, 0, 0x100000000, sizeof(sockaddr_un)) >= 0 || errno != EPERM;
     }},
    {"locks_what_it_reads", [](const Target& t) { return ::flock(t.handed, LOCK_EX | LOCK_NB) == 0; }},
    {"locks_a_part_of_what_it_reads",
     [](const Target& t) { return locks(t.handed, F_SETLK) || locks(t.handed, F_OFD_SETLK); }},
    {"changes_the_size_of_a_shared_pipe",
     [](const Target&) {
       int ends[2];
       return ::pipe(ends) == 0 && ::fcntl(ends[0], F_SETPIPE_SZ, 4096) > 0;
     }},
    {"has_itself_signaled_by_a_descriptor", [](const Target& t) { return ::fcntl(t.handed, F_SETSIG, SIGURG) == 0; }},
    {"rates_what_it_reads",
     [](const Target& t) {
       uint64_t hint = 0;
       return ::fcntl(t.handed, F_SET_RW_HINT, &hint) == 0 || errno != EPERM;
     }},
    {"sets_the_version_of_what_it_reads",
     [](const Target& t) {
       const int version = 1;
       return ::ioctl(t.handed, FS_IOC_SETVERSION, &version) == 0 || errno != EPERM;
     }},
    {"lends_its_pages_to_a_pipe",
     [](const Target&) {
       int ends[2];
       iovec part{const_cast<char*>("x"), 1};
       return ::pipe(ends) == 0 && ::vmsplice(ends[1], &part, 1, 0) == 1;
     }},
    {"lends_a_files_pages_to_a_pipe",
     [](const Target& t) {
       int ends[2];
       loff_t at = 0;
       return ::pipe(ends) == 0 && ::splice(t.handed, &at, ends[1], nullptr, 1, 0) == 1;
     }},
    {"lists_a_files_attributes",
     [](const Target& t) { return ::syscall(__NR_listxattr, t.file.c_str(), nullptr, 0) >= 0; }},
    {"writes_all_disks", [](const Target&) { return ::syscall(__NR_sync) == 0; }},
};

struct Row {
  Attempt attempt;
  bool gpu = false;
};

std::vector<Row> rows() {
  std::vector<Row> all;
  for (const bool gpu : {false, true}) {
    const auto add = [&](const Attempt& attempt) {
      if (!gpu || !attempt.driverDoes) all.push_back({attempt, gpu});
    };
    std::ranges::for_each(kAttempts, add);
    std::ranges::for_each(kReaching, add);
  }
  return all;
}

constexpr int kRefused = 7, kSucceeded = 8;

class WallsTest : public WorkerTest {
 protected:
  WallsTest() {
    const sockaddr_un address = addressOf(target_);
    EXPECT_EQ(::bind(heard_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  }
  [[nodiscard]] bool hearsSomething() const {
    char byte = 0;
    return ::recv(heard_.get(), &byte, 1, MSG_DONTWAIT) >= 0;
  }

  const std::string file_ = write("mine", "mine").string();
  const Descriptor handed_{::open(file_.c_str(), O_RDONLY | O_CLOEXEC)};
  const Descriptor heard_{::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0)};
  const Target target_{file_, path("").string(), ::getpid(), handed_.get(), path("socket").string()};
};

class Walls : public WallsTest, public ::testing::WithParamInterface<Row> {};

TEST_P(Walls, Refuse) {
  if (offeredConfinement() != Confinement::Full) GTEST_SKIP() << whatIsMissing(offeredConfinement(), false);
  Worker::Start start;
  start.walls.gpu = GetParam().gpu;
  start.keep = {target_.handed};
  const Outcome outcome =
      run([&](Confinement) { return GetParam().attempt.succeeds(target_) ? kSucceeded : kRefused; }, std::move(start));
  EXPECT_TRUE(outcome.end.byItself) << outcome.end.error.message;
  EXPECT_EQ(outcome.end.status, kRefused);
  EXPECT_EQ(read("mine"), "mine");
  EXPECT_EQ(names(), (std::vector<std::string>{"mine", "socket"}));
  EXPECT_FALSE(hearsSomething());
}

INSTANTIATE_TEST_SUITE_P(Attempts, Walls, ::testing::ValuesIn(rows()), [](const auto& row) {
  return std::string(row.param.attempt.name) + (row.param.gpu ? "_by_gpu" : "");
});

// Else a row would say nothing of the walls.
TEST_F(WallsTest, AreWhatRefusesToReachAnother) {
  const pid_t other = ::fork();
  if (other == 0) {
    for (;;) ::pause();
  }
  Target target = target_;
  target.process = other;
  for (const Attempt& attempt : kReaching) {
    const pid_t child = ::fork();
    if (child == 0) {
      ::setpgid(0, 0);
      ::_exit(attempt.succeeds(target) ? kSucceeded : kRefused);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(WEXITSTATUS(status), kSucceeded) << attempt.name;
  }
  ::kill(other, SIGKILL);
  ::waitpid(other, nullptr, 0);
  EXPECT_TRUE(hearsSomething());
}

class WallsLeave : public WorkerTest {};

TEST_F(WallsLeave, WhatAModelNeeds) {
  const Outcome outcome = run([&](Confinement) {
    int failed = 0;
    const auto need = [&](bool good, int bit) { failed |= good ? 0 : bit; };
    std::thread([&] { need(true, 0); }).join();
    need(opens("/proc/self/status", O_RDONLY), 1);
    need(opens("/proc/cpuinfo", O_RDONLY), 2);
    need(opens("/sys/devices/system/cpu/online", O_RDONLY), 4);
    need(opens("/dev/null", O_RDWR), 8);
    need(::dlopen("libm.so.6", RTLD_NOW) != nullptr, 16);
    need(::mmap(nullptr, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED, 32);
    need(opens(std::string(::getenv("TMPDIR")) + "/profile", O_RDWR | O_CREAT), 64);
    return failed;
  });
  EXPECT_TRUE(outcome.end.byItself) << outcome.end.error.message;
  EXPECT_EQ(outcome.end.status, 0);
}

// The test program's own folder stands for one of LibTorch's.
TEST_F(WallsLeave, LibrariesOfAFolderAndNothingElseThere) {
  if (offeredConfinement() != Confinement::Full) GTEST_SKIP() << whatIsMissing(offeredConfinement(), false);
  const auto folder = std::filesystem::read_symlink("/proc/self/exe").parent_path();
  const auto named = [&](const std::string& end) {
    const auto file = folder / ("walls-" + std::to_string(::getpid()) + end);
    std::ofstream(file) << "x";
    return file;
  };
  const std::vector files{named(".so"), named(".so.1"), named(".sock"), named(".txt")};
  const Outcome outcome = run([&](Confinement) {
    int opened = 0;
    for (size_t i = 0; i < files.size(); ++i) opened |= opens(files[i], O_RDONLY) ? 1 << i : 0;
    return opened;
  });
  for (const auto& file : files) std::filesystem::remove(file);
  EXPECT_EQ(outcome.end.status, 1 + 2);
}

TEST_F(WallsLeave, VariablesThatLibrariesReadAndNoOthers) {
  for (const char* name :
       {"AWS_SECRET_ACCESS_KEY", "GITHUB_TOKEN", "SSH_AUTH_SOCK", "OMP_PROC_BIND", "OMP_NUM_THREADS", "LC_ALL"}) {
    ::setenv(name, "1", 1);
  }
  ASSERT_NE(::getenv("PATH"), nullptr);  // of the block that /proc/self/environ shows
  const Outcome outcome = run([&](Confinement) {
    std::ifstream shown("/proc/self/environ");
    const std::string text{std::istreambuf_iterator<char>(shown), {}};
    int failed = text.find("PATH=") == 0 || text.find(std::string("\0PATH=", 6)) < text.size() ? 1 : 0;
    for (const char* name : {"AWS_SECRET_ACCESS_KEY", "GITHUB_TOKEN", "SSH_AUTH_SOCK", "OMP_PROC_BIND", "PATH"}) {
      if (::getenv(name) != nullptr) failed |= 2;
    }
    for (const char* name : {"OMP_NUM_THREADS", "LC_ALL", "TMPDIR"}) {
      if (::getenv(name) == nullptr) failed |= 4;
    }
    return failed;
  });
  EXPECT_EQ(outcome.end.status, 0) << outcome.end.error.message;
}

TEST_F(WallsLeave, NoMoreMemoryThanTheLimit) {
  if (!kMemoryIsLimited) GTEST_SKIP() << "not under a sanitizer";
  Worker::Start start;
  start.limits.memoryBytes = int64_t{256} << 20;
  const Outcome outcome = run(
      [&](Confinement) {
        const bool small =
            ::mmap(nullptr, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED;
        const bool large = ::mmap(nullptr, size_t{512} << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
                                  0) != MAP_FAILED;
        return small && !large ? 0 : 1;
      },
      std::move(start));
  EXPECT_EQ(outcome.end.status, 0);
}

using Calls = std::map<std::string, int>;  // by what was called: 0, or the error number

Worker::Start forGpu() {
  Worker::Start start;
  start.walls.gpu = true;
  return start;
}

std::string callsOfDriver() {
  void* const driver = ::dlopen("libcuda.so.1", RTLD_NOW);  // by the RUNPATH of this program
  if (driver == nullptr) return {};
  reinterpret_cast<int (*)(unsigned)>(::dlsym(driver, "cuInit"))(0);
  return reinterpret_cast<const char* (*)()>(::dlsym(driver, "standInDriverCalls"))();
}

void add(const std::string& line, Calls& calls) {
  const size_t end = line.rfind('=');
  if (end != std::string::npos) calls[line.substr(0, end)] = std::stoi(line.substr(end + 1));
}

// In a process of its own: this one must not have the driver when a worker is forked.
Calls withoutWalls() {
  int ends[2];
  if (::pipe(ends) != 0) return {};
  const pid_t child = ::fork();
  if (child == 0) {
    const std::string text = callsOfDriver();
    const bool written = ::write(ends[1], text.data(), text.size()) == static_cast<ssize_t>(text.size());
    ::_exit(written ? 0 : 1);
  }
  ::close(ends[1]);
  std::string text;
  char bytes[4096];
  for (ssize_t got = 0; (got = ::read(ends[0], bytes, sizeof bytes)) > 0;) text.append(bytes, static_cast<size_t>(got));
  ::close(ends[0]);
  ::waitpid(child, nullptr, 0);
  Calls calls;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) add(line, calls);
  return calls;
}

std::string securityPage() {
  std::ifstream page(NORMLENS_SECURITY_PAGE);
  return {std::istreambuf_iterator<char>(page), {}};
}

class DriverWalls : public WorkerTest {};

TEST_F(DriverWalls, TheDriverMeetsNoRefusalThatThePageDoesNotName) {
  if (offeredConfinement() != Confinement::Full) GTEST_SKIP() << whatIsMissing(offeredConfinement(), true);
  std::filesystem::create_directories(path("home/.nv/ComputeCache"));
  ::setenv("HOME", path("home").c_str(), 1);
  const Calls before = withoutWalls();
  ASSERT_GT(before.size(), 30U);
  Calls behind;
  const Outcome outcome = run(
      [](Confinement level) {
        std::fputs(callsOfDriver().c_str(), stdout);
        return level == Confinement::Full ? 0 : 1;
      },
      forGpu(), {}, [&](std::string_view line) { add(std::string(line), behind); });
  ASSERT_EQ(outcome.end.status, 0) << outcome.end.error.message;
  ASSERT_EQ(behind.size(), before.size());
  const std::string page = securityPage();
  for (const auto& [call, error] : behind) {
    if (error == before.at(call)) continue;
    EXPECT_NE(page.find("`" + call + "`"), std::string::npos) << call << ": " << std::strerror(error);
  }
}

TEST_F(DriverWalls, NeedsTheGpu) {
  // The same calls in a worker that may not use one: the stand-in is refused, so the test above can fail.
  Calls behind;
  const Outcome outcome = run(
      [](Confinement) {
        std::fputs(callsOfDriver().c_str(), stdout);
        return 0;
      },
      {}, {}, [&](std::string_view line) { add(std::string(line), behind); });
  EXPECT_TRUE(outcome.end.byItself) << outcome.end.error.message;
  EXPECT_TRUE(behind.empty());  // its folder cannot be read
}

// A listening socket of another process, which a connect would reach.
int listening(const std::string& path) {
  const int socket = ::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  const bool listens = ::bind(socket, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
  return listens && ::listen(socket, 1) == 0 ? socket : -1;
}

TEST_F(DriverWalls, ASocketOfTheDriverReachesNobody) {
  const std::string name = path("socket").string();
  ASSERT_GE(listening(name), 0);
  const Outcome outcome = run(
      [&](Confinement) {
        int failed = 0;
        const auto need = [&](bool good, int bit) { failed |= good ? 0 : bit; };
        need(::socket(AF_INET, SOCK_STREAM, 0) < 0 && errno == EPERM, 1);
        need(::socket(AF_UNIX, SOCK_STREAM, 0) < 0 && errno == EPERM, 2);
        need(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0) < 0 && errno == EPERM, 4);
        const int socket = ::socket(AF_UNIX, SOCK_SEQPACKET, 0);
        need(socket >= 0, 8);
        sockaddr_un address{};
        address.sun_family = AF_UNIX;
        name.copy(address.sun_path, sizeof address.sun_path - 1);
        auto* const to = reinterpret_cast<sockaddr*>(&address);
        need(::connect(socket, to, sizeof address) != 0 && errno == ENOENT, 16);
        need(::sendto(socket, "x", 1, 0, to, sizeof address) < 0, 32);
        need(::bind(socket, to, sizeof address) != 0 && errno == EPERM, 64);
        return failed;
      },
      forGpu());
  EXPECT_EQ(outcome.end.status, 0) << outcome.end.error.message;
}

// Landlock holds for the thread that asks for it: it is not called full where a library has started another.
TEST_F(DriverWalls, AreNotFullBesideAThreadOfALibrary) {
  write("mine", "mine");
  ::setenv("CUDA_STAND_IN_THREAD", "1", 1);
  const Outcome outcome = run(
      [&](Confinement level) {
        const bool makes = ::open(path("made").c_str(), O_WRONLY | O_CREAT, 0600) >= 0;
        return level == Confinement::Calls && !makes ? 0 : 1;
      },
      forGpu());
  ::unsetenv("CUDA_STAND_IN_THREAD");
  EXPECT_EQ(outcome.end.status, 0);
  EXPECT_TRUE(outcome.end.byItself) << outcome.end.error.message;
}

TEST_F(DriverWalls, AFileOfTheUserIsNeitherReadNorWritten) {
  if (offeredConfinement() != Confinement::Full) GTEST_SKIP() << whatIsMissing(offeredConfinement(), true);
  write("mine", "mine");
  const Outcome outcome = run(
      [&](Confinement) {
        const auto opens = [&](int flags) { return ::open(path("mine").c_str(), flags | O_CLOEXEC) >= 0; };
        return opens(O_RDONLY) || opens(O_WRONLY) || opens(O_RDWR) ? 1 : 0;
      },
      forGpu());
  EXPECT_EQ(outcome.end.status, 0);
}

}  // namespace
}  // namespace normlens::confine
