#include "core/confine/system_calls.h"

#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/prctl.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#if defined(__x86_64__)
#define NORMLENS_AUDIT_ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define NORMLENS_AUDIT_ARCH AUDIT_ARCH_AARCH64
#endif

namespace normlens::confine {

#ifdef NORMLENS_AUDIT_ARCH

namespace {

// Numbers that are the same on all processors (calls since 5.1) and may be missing in older headers.
constexpr int kIoUringSetup = 425, kOpenat2 = 437, kPidfdGetfd = 438, kMountSetattr = 442, kFchmodat2 = 452;
constexpr int kOpenTree = 428, kMoveMount = 429, kFsopen = 430, kFsmount = 432, kFspick = 433, kPidfdOpen = 434;
constexpr uint32_t kSchedCore = 62;  // An option of prctl: which processes may run beside each other on one core.
constexpr int kClone3 = 435, kProcessMadvise = 440, kProcessMrelease = 448, kMemfdSecret = 447;
// The youngest that this table was made with (Linux 6.10: mseal); what is younger does not exist here.
constexpr int kYoungest = 462;

// One paragraph for each kind of harm.
// clang-format off

// These are never of use to a model: each of them reaches beyond the process.
constexpr std::array kRefused = {
    // the network, and all requests over sockets
    __NR_socket, __NR_socketpair, __NR_connect, __NR_bind, __NR_listen, __NR_accept, __NR_accept4, __NR_sendmmsg,
    kIoUringSetup,
    // programs
    __NR_execve, __NR_execveat,
    // other processes and their memory
    __NR_ptrace, __NR_process_vm_readv, __NR_process_vm_writev, __NR_kcmp, __NR_tkill, __NR_rt_sigqueueinfo,
    __NR_rt_tgsigqueueinfo, __NR_pidfd_send_signal, kPidfdOpen, kPidfdGetfd, kProcessMadvise, kProcessMrelease,
    __NR_setpgid, __NR_setsid, __NR_shmget, __NR_shmat, __NR_shmctl, __NR_semget, __NR_semctl, __NR_msgget, __NR_msgsnd,
    __NR_msgctl, __NR_semop, __NR_semtimedop, __NR_msgrcv, __NR_mq_open, __NR_mq_unlink, __NR_setpriority,
    __NR_ioprio_set, __NR_sched_setscheduler, __NR_sched_setparam, __NR_sched_setattr, __NR_migrate_pages,
    __NR_move_pages, __NR_get_robust_list,
    // files by their names, where Landlock has no word for it
    __NR_truncate, __NR_fchmodat, kFchmodat2, __NR_fchownat, __NR_fchown, __NR_utimensat, __NR_setxattr, __NR_lsetxattr,
    __NR_fsetxattr, __NR_removexattr, __NR_lremovexattr, __NR_fremovexattr, __NR_open_by_handle_at,
    __NR_name_to_handle_at, __NR_chroot, __NR_fanotify_init, __NR_inotify_add_watch, __NR_getxattr, __NR_lgetxattr,
    __NR_listxattr, __NR_llistxattr,
    // files by descriptors that were handed over to read, or to print to: their length, mode and locks (the lock of a
    // written file shows that its writer lives), and pages that are lent to a pipe whose reader is another process
    __NR_fchmod, __NR_ftruncate, __NR_flock, __NR_splice, __NR_tee, __NR_vmsplice,
#ifdef __NR_chmod
    __NR_chmod, __NR_chown, __NR_lchown, __NR_utime, __NR_utimes, __NR_futimesat,
#endif
    // the machine
    __NR_mount, __NR_umount2, __NR_pivot_root, __NR_unshare, __NR_setns, kOpenTree, kMoveMount, kFsopen, kFsmount,
    kFspick, kMountSetattr, __NR_bpf, __NR_perf_event_open, __NR_userfaultfd, __NR_keyctl, __NR_add_key,
    __NR_request_key, __NR_init_module, __NR_finit_module, __NR_delete_module, __NR_kexec_load, __NR_reboot,
    __NR_swapon, __NR_swapoff, __NR_sethostname, __NR_setdomainname, __NR_settimeofday, __NR_clock_settime,
    __NR_clock_adjtime, __NR_adjtimex, __NR_acct, __NR_quotactl, __NR_syslog, __NR_personality, __NR_vhangup,
    kMemfdSecret, __NR_io_setup, __NR_sync, __NR_syncfs,
#ifdef __NR_iopl
    __NR_iopl, __NR_ioperm, __NR_modify_ldt,
#endif
#ifdef __NR_fork
    __NR_fork, __NR_vfork,
#endif
};

// Landlock decides on these by the file, on machines that have it.
constexpr std::array kNames = {
    __NR_mkdirat, __NR_unlinkat, __NR_linkat, __NR_symlinkat, __NR_renameat2, __NR_mknodat,
#ifdef __NR_renameat
    __NR_renameat,
#endif
#ifdef __NR_mkdir
    __NR_mkdir, __NR_rmdir, __NR_unlink, __NR_link, __NR_symlink, __NR_rename, __NR_mknod, __NR_creat,
#endif
};
// clang-format on

constexpr uint32_t kEnd = BPF_RET | BPF_K;
constexpr uint32_t kAllow = SECCOMP_RET_ALLOW;
constexpr uint32_t kAll = 0xffffffff;
constexpr uint32_t refusal(int error) { return SECCOMP_RET_ERRNO | static_cast<uint32_t>(error); }

// Builds the program; each rule is independent of the others: what it does not decide goes on to the next.
class Filter {
 public:
  Filter() {
    load(offsetof(seccomp_data, arch));
    unless(BPF_JEQ, NORMLENS_AUDIT_ARCH, SECCOMP_RET_KILL_PROCESS);
    load(offsetof(seccomp_data, nr));
    // This covers, on x86-64, the 32-bit calls of the x32 interface too, whose numbers have bit 30 set.
    when(BPF_JGT, kYoungest, refusal(ENOSYS));
  }
  void refuse(int call, int error = EPERM) { when(BPF_JEQ, static_cast<uint32_t>(call), refusal(error)); }
  // Refuses a call where (argument & mask) == value or, with `other`, where it is anything else. Low 32 bits.
  void refuseWhere(int call, int argument, uint32_t mask, uint32_t value, bool other = false) {
    refuseWhereHalf(call, low(argument), mask, value, other);
  }
  // Refuses a call that is given a pointer. Both halves are compared; the low one comes first (little-endian).
  void refuseUnlessNull(int call, int argument) {
    for (const size_t half : {size_t{0}, sizeof(uint32_t)}) refuseWhereHalf(call, low(argument) + half, kAll, 0, true);
  }
  void refuseUnless(int call, int argument, std::span<const uint32_t> allowed) {
    jump(BPF_JEQ, static_cast<uint32_t>(call), 0, static_cast<uint8_t>(allowed.size() + 3));
    load(low(argument));
    for (size_t left = allowed.size(); const uint32_t value : allowed) {
      jump(BPF_JEQ, value, static_cast<uint8_t>(left--), 0);
    }
    add(kEnd, refusal(EPERM));
    load(offsetof(seccomp_data, nr));
  }
  bool install() {
    add(kEnd, kAllow);
    const sock_fprog program{static_cast<unsigned short>(code_.size()), code_.data()};
    return ::syscall(__NR_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program) == 0;
  }

 private:
  static size_t low(int argument) {
    return offsetof(seccomp_data, args) + static_cast<size_t>(argument) * sizeof(uint64_t);
  }
  void refuseWhereHalf(int call, size_t offset, uint32_t mask, uint32_t value, bool other) {
    jump(BPF_JEQ, static_cast<uint32_t>(call), 0, 5);
    load(offset);
    add(BPF_ALU | BPF_AND | BPF_K, mask);
    jump(BPF_JEQ, value, other ? 1 : 0, other ? 0 : 1);
    add(kEnd, refusal(EPERM));
    load(offsetof(seccomp_data, nr));
  }
  void add(uint32_t code, uint32_t k) { code_.push_back({static_cast<uint16_t>(code), 0, 0, k}); }
  void load(size_t offset) { add(BPF_LD | BPF_W | BPF_ABS, static_cast<uint32_t>(offset)); }
  void jump(uint32_t test, uint32_t k, uint8_t yes, uint8_t no) {
    code_.push_back({static_cast<uint16_t>(BPF_JMP | test | BPF_K), yes, no, k});
  }
  void when(uint32_t test, uint32_t k, uint32_t end) {
    jump(test, k, 0, 1);
    add(kEnd, end);
  }
  void unless(uint32_t test, uint32_t k, uint32_t end) {
    jump(test, k, 1, 0);
    add(kEnd, end);
  }

  std::vector<sock_filter> code_;
};

// Refuses to open a file to read and yet cut it off, or for ioctl alone (mode 3), which Landlock does not restrict.
void refuseWaysToOpen(Filter& filter, int call, int flags) {
  filter.refuseWhere(call, flags, O_ACCMODE | O_TRUNC, O_RDONLY | O_TRUNC);
  filter.refuseWhere(call, flags, O_ACCMODE, O_ACCMODE);
}

// Refuses what a descriptor does beyond reading and writing: the starter of this process, and the terminal, share it.
void refuseByDescriptor(Filter& filter) {
  // Any other command changes what is shared: flags, locks, the size of a pipe, who is signaled.
  constexpr std::array<uint32_t, 8> kOwn = {F_DUPFD, F_DUPFD_CLOEXEC, F_GETFD,     F_SETFD,
                                            F_GETFL, F_GETPIPE_SZ,    F_ADD_SEALS, F_GET_SEALS};
  filter.refuseUnless(__NR_fcntl, 1, kOwn);
  // Each ioctl has the letter of its subject: terminals (T, K, V), sockets, attributes and versions of files and disks.
  for (const uint32_t letter : {0x54, 0x4b, 0x56, 0x89, 0x66, 0x58, 0x76, 0x94, 0xf5}) {
    filter.refuseWhere(__NR_ioctl, 1, 0xff00, letter << 8U);
  }
  filter.refuseWhere(__NR_fallocate, 1, kAll, 0, true);
}

// Refuses memory that no limit counts.
void refuseUncountedMemory(Filter& filter) {
  filter.refuse(__NR_memfd_create);
  filter.refuseWhere(__NR_mmap, 3, MAP_SHARED | MAP_ANONYMOUS, MAP_SHARED | MAP_ANONYMOUS);
  filter.refuseWhere(__NR_mmap, 3, MAP_GROWSDOWN, MAP_GROWSDOWN);
}

// The door is the one socket to send on, and to no address: it is connected, and of a kind that sends to none.
void refuseToSend(Filter& filter, int door) {
  for (const int call : {__NR_sendto, __NR_sendmsg})
    filter.refuseWhere(call, 0, kAll, static_cast<uint32_t>(door), true);
  filter.refuseUnlessNull(__NR_sendto, 4);
}

void refuseByArguments(Filter& filter, uint32_t self) {
  for (const int call : {kClone3, kOpenat2}) filter.refuse(call, ENOSYS);  // their flags cannot be seen
  filter.refuseWhere(__NR_clone, 0, CLONE_THREAD, 0);
  filter.refuseWhere(__NR_kill, 0, kAll, self, true);
  filter.refuseWhere(__NR_tgkill, 0, kAll, self, true);
  filter.refuseWhere(__NR_prctl, 0, kAll, PR_SET_PDEATHSIG);
  for (const int call : {__NR_prlimit64, __NR_sched_setaffinity}) filter.refuseWhere(call, 0, kAll, 0, true);
  filter.refuseWhere(__NR_prctl, 0, kAll, kSchedCore);
  refuseWaysToOpen(filter, __NR_openat, 2);
#ifdef __NR_open
  refuseWaysToOpen(filter, __NR_open, 1);
#endif
  refuseByDescriptor(filter);
}

// The driver looks for MPS by a socket, and gets what a machine without MPS answers. Connected or not, a socket of this
// kind sends nothing to an address. ftruncate: the driver sizes files of memory, which a filter cannot distinguish from
// others.
void refuseForDriver(Filter& filter) {
  filter.refuseWhere(__NR_socket, 0, kAll, AF_UNIX, true);
  filter.refuseWhere(__NR_socket, 1, 0xf, SOCK_SEQPACKET, true);
  filter.refuseWhere(__NR_socketpair, 0, kAll, AF_UNIX, true);
  filter.refuseWhere(__NR_socketpair, 1, 0xb, SOCK_STREAM & SOCK_SEQPACKET, true);  // no kind but these two
  filter.refuse(__NR_connect, ENOENT);
}

void refuseNames(Filter& filter, bool gpu) {
  for (const int call : kNames) filter.refuse(call, EACCES);
  for (const uint32_t way : {O_WRONLY, O_RDWR}) {
    if (gpu && way == O_RDWR) continue;
    filter.refuseWhere(__NR_openat, 2, O_ACCMODE, way);
#ifdef __NR_open
    filter.refuseWhere(__NR_open, 1, O_ACCMODE, way);
#endif
  }
  for (const uint32_t flag : {O_CREAT, O_TRUNC}) {
    filter.refuseWhere(__NR_openat, 2, flag, flag);
#ifdef __NR_open
    filter.refuseWhere(__NR_open, 1, flag, flag);
#endif
  }
}

}  // namespace

bool refuseCalls(bool namesToo, bool gpu, int door) {
  Filter filter;
  for (const int call : kRefused) {
    const bool forDriver =
        call == __NR_socket || call == __NR_socketpair || call == __NR_connect || call == __NR_ftruncate;
    if (!gpu || !forDriver) filter.refuse(call);
  }
  if (gpu) refuseForDriver(filter);
  const auto self = static_cast<uint32_t>(::getpid());
  refuseByArguments(filter, self);
  refuseToSend(filter, door);
  if (!gpu) {
    filter.refuse(__NR_ioctl);
    refuseUncountedMemory(filter);
  }
  if (namesToo) refuseNames(filter, gpu);
  return filter.install();
}

bool callsCanBeRefused() {
  // Filters are there where an empty one is refused for its address alone.
  return ::syscall(__NR_seccomp, SECCOMP_SET_MODE_FILTER, 0, nullptr) != 0 && errno == EFAULT;
}

#else

bool refuseCalls(bool, bool, int) { return false; }
bool callsCanBeRefused() { return false; }

#endif

}  // namespace normlens::confine
