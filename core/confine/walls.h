// Walls around the process that loads and runs a stranger's model. They hold for all its threads and cannot be taken
// down again.
//
// Landlock (Linux 5.13, docs.kernel.org/userspace-api/landlock.html): the process opens what it needs of the system to
// read (libraries, /sys, a few files of /proc), nothing else; what it is to read or write besides comes as a descriptor
// (core/base/files.h). seccomp: no sockets, no programs, no other processes, no changes to files by their names, no
// calls that are younger than this table. No capabilities, no new privileges, a limit of memory, no core dump.
// SECURITY.md is the long form.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace normlens::confine {

enum class Confinement : uint8_t {
  None,   // this machine offers nothing
  Calls,  // seccomp alone: nothing can be written or sent, but any file can be read
  Full,
};
[[nodiscard]] std::string_view confinementName(Confinement level);
// One sentence for a person; empty where it is full. gpu: for a process that may use a GPU, see Walls.
[[nodiscard]] std::string_view whatIsMissing(Confinement level, bool gpu);

// Returns those of Landlock and seccomp that this machine does not offer. Thread: any.
[[nodiscard]] std::vector<std::string> missingWalls();

// Returns what this machine offers, without taking it. Thread: any.
[[nodiscard]] Confinement offeredConfinement();

struct Walls {
  std::filesystem::path scratch;  // an own empty folder in which files may be made (ONNX Runtime's profiles); or empty
  int64_t memoryBytes = 0;        // see limitMemory(); 0: as much as there is
  bool gpu = false;  // lets NVIDIA's driver work: its devices, its threads' names, sockets that connect to nothing
  int door = -1;     // the one socket that it may send on
};

// Call while the process has one thread. Returns what is in force: where a part cannot be had the others are still put
// up. `parent`: who started it, with whom it dies.
[[nodiscard]] Confinement confineThisProcess(const Walls& walls, pid_t parent);

// Sets RLIMIT_DATA of this process (0) or another, but not under a sanitizer, whose shadow is larger than any limit.
void limitMemory(pid_t process, int64_t bytes);
inline constexpr bool kMemoryIsLimited =
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    false;
#else
    true;
#endif

}  // namespace normlens::confine
