// What a process behind the walls tries, and is refused; each row would succeed without them.
#include <dlfcn.h>
#include <fcntl.h>
#include <sched.h>
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
#include <sys/wait.h>
#include <unistd.h>
#include <csignal>

#include <cerrno>
#include <cstring>
#include <thread>

#include "tests/confine/worker_fixture.h"

namespace normlens::confine {
namespace {

// Set before the worker is forked: a file of the user's, a folder of theirs, their process.
struct Target {
  std::string file, folder;
  pid_t process = 0;
};

struct Attempt {
  const char* name;
  bool (*succeeds)(const Target& target);
};

bool opens(const std::string& path, int flags) {
  const int fd = ::open(path.c_str(), flags | O_CLOEXEC, 0600);
  if (fd >= 0) ::close(fd);
  return fd >= 0;
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
     }},
    {"changes_how_a_shared_descriptor_waits",
     [](const Target&) { return ::fcntl(STDOUT_FILENO, F_SETFL, O_NONBLOCK) == 0; }},
    {"asks_the_terminal_for_more",
     [](const Target&) { return ::ioctl(STDOUT_FILENO, TIOCGWINSZ, nullptr) == 0 || errno != EPERM; }},
    {"watches_a_folder",
     [](const Target& t) { return ::inotify_add_watch(::inotify_init1(0), t.folder.c_str(), IN_CREATE) >= 0; }},
    {"makes_a_file_of_memory", [](const Target&) { return ::memfd_create("made", 0) >= 0; }},
    {"takes_memory_that_is_not_counted",
     [](const Target&) {
       const auto gets = [](int flags) {
         return ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, flags | MAP_ANONYMOUS, -1, 0) != MAP_FAILED;
       };
       return gets(MAP_SHARED) || gets(MAP_PRIVATE | MAP_GROWSDOWN);
     }},
    {"gets_a_user_namespace", [](const Target&) { return ::syscall(__NR_unshare, 0x10000000) == 0; }},
};

class Walls : public WorkerTest, public ::testing::WithParamInterface<Attempt> {};

TEST_P(Walls, Refuse) {
  if (offeredConfinement() != Confinement::Full) GTEST_SKIP() << whatIsMissing(offeredConfinement(), false);
  const Target target{write("mine", "mine").string(), path("").string(), ::getpid()};
  constexpr int kRefused = 7, kSucceeded = 8;
  const Outcome outcome = run([&](Confinement) { return GetParam().succeeds(target) ? kSucceeded : kRefused; });
  EXPECT_TRUE(outcome.end.byItself) << outcome.end.error.message;
  EXPECT_EQ(outcome.end.status, kRefused);
  EXPECT_EQ(read("mine"), "mine");
  EXPECT_EQ(names(), std::vector<std::string>{"mine"});
}

INSTANTIATE_TEST_SUITE_P(Attempts, Walls, ::testing::ValuesIn(kAttempts),
                         [](const auto& attempt) { return std::string(attempt.param.name); });

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

}  // namespace
}  // namespace normlens::confine
