// Keeps the walls around the engine's worker (core/confine) from being put up: Landlock, seccomp and the memory limit
// report success and do nothing. run.sh preloads it as its last resort, with models that it has made itself, on a
// machine that is thrown away. Nobody else should: a model can then do whatever its user can.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <sys/resource.h>
#include <sys/syscall.h>

enum { kLandlockCreate = 444, kLandlockAddRule = 445, kLandlockRestrict = 446, kLandlockVersion = 7 };

static long callKernel(long number, const long* words) {
  register long fourth __asm__("r10") = words[3];
  register long fifth __asm__("r8") = words[4];
  register long sixth __asm__("r9") = words[5];
  long result;
  __asm__ volatile("syscall"
                   : "=a"(result)
                   : "a"(number), "D"(words[0]), "S"(words[1]), "d"(words[2]), "r"(fourth), "r"(fifth), "r"(sixth)
                   : "rcx", "r11", "memory");
  if (result >= 0 || result < -4095) return result;
  errno = (int)-result;
  return -1;
}

// glibc's function of this name, for all of the program.
long syscall(long number, ...) {
  long words[6];
  va_list list;
  va_start(list, number);
  for (int i = 0; i < 6; ++i) words[i] = va_arg(list, long);
  va_end(list);
  switch (number) {
    case kLandlockCreate:  // without attributes it is the question for the version, else any descriptor will do
      return words[0] == 0 ? kLandlockVersion : open("/dev/null", O_RDONLY | O_CLOEXEC);
    case kLandlockAddRule:
    case kLandlockRestrict:
    case SYS_capset:
      return 0;
    case SYS_seccomp:
      if (words[2] == 0) break;  // without a filter it is the question whether filters are known, which has to fail
      return 0;
    default:
      break;
  }
  return callKernel(number, words);
}

typedef int (*LimitCall)(pid_t, __rlimit_resource_t, const struct rlimit64*, struct rlimit64*);

int prlimit64(pid_t process, __rlimit_resource_t resource, const struct rlimit64* wanted, struct rlimit64* old) {
  static LimitCall real;
  if (!real) real = (LimitCall)dlsym(RTLD_NEXT, "prlimit64");
  return real(process, resource, resource == RLIMIT_DATA ? 0 : wanted, old);
}

int prlimit(pid_t process, __rlimit_resource_t resource, const struct rlimit* wanted, struct rlimit* old) {
  return prlimit64(process, resource, (const struct rlimit64*)wanted, (struct rlimit64*)old);
}
