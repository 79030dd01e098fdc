// The seccomp half of the walls: which system calls a confined process may not make. Private to core/confine.
#pragma once

namespace normlens::confine {

// namesToo: what Landlock would refuse (making, renaming and removing files, opening them to write) as well.
// gpu: NVIDIA's driver may share memory with the process, size files of memory, make sockets that connect to nothing,
// and, with namesToo, open files to read and write: only Landlock can distinguish its devices from other files.
// door: the one descriptor to send on.
// False: this machine has no seccomp filters, or is of a processor that the table has no numbers for.
[[nodiscard]] bool refuseCalls(bool namesToo, bool gpu, int door);
// Returns whether refuseCalls() could work here.
[[nodiscard]] bool callsCanBeRefused();

}  // namespace normlens::confine
