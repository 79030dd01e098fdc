// clone() by way of fork(), for programs that run under the thread sanitizer.
//
// QProcess starts a program by clone() in a way that lets the child borrow our memory until it is that program. What
// the child's first steps note there makes the sanitizer take this process for a forked one, in which it follows no
// locks any more: then every hand-over between threads looks like a race. After a fork the child notes it in a copy.
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdarg>

extern "C" int clone(int (*run)(void*), void* /*stack*/, int flags, void* argument, ...) {
  va_list more;
  va_start(more, argument);
  int* handle = va_arg(more, int*);
  va_end(more);
  const pid_t child = fork();
  if (child == 0) _exit(run(argument));
  if (child > 0 && (flags & CLONE_PIDFD) != 0) *handle = static_cast<int>(syscall(SYS_pidfd_open, child, 0));
  return child;
}
