// Files that this process opens itself: what files.h does where nothing is in between, and what a doorkeeper
// (core/confine) does for a process that has no way to them. Errors are errno values. Thread: any.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string_view>
#include <tl/expected.hpp>

#include "core/base/descriptor.h"

namespace normlens::direct {

template <class T>
using OrErrno = tl::expected<T, int>;

// A file that has no name yet (O_TMPFILE), so that nothing of it is left whenever its maker dies. Where a file system
// cannot do that, it has a temporary name beside `target`, which is taken away again or, after a SIGKILL, by the next
// createNew() of the same target.
struct NewFile {
  Descriptor file;
  std::filesystem::path target;
  std::filesystem::path temporary;  // empty: no name
};

enum class Naming : unsigned char { Replace, OnlyNew };

// Returns the path behind all symbolic links, its last part too where there is nothing yet.
[[nodiscard]] std::filesystem::path behindLinks(const std::filesystem::path& path);

// Takes the lock of a file or folder of this user's, which shows that its maker lives; empty: it cannot be had.
enum class IfHeld : unsigned char { Wait, GiveUp };
[[nodiscard]] Descriptor locked(const std::filesystem::path& path, IfHeld ifHeld);
// Removes what makers that were killed have left in a folder: nobody holds its lock.
void removeStale(const std::filesystem::path& folder, const std::function<bool(std::string_view name)>& isOurs);

// Returns whether a name is `start` and the random letters that mkstemp and mkdtemp put behind it.
[[nodiscard]] bool isTemporaryName(std::string_view name, std::string_view start);

// O_NONBLOCK: opening a named pipe does not wait for a writer.
[[nodiscard]] OrErrno<Descriptor> openToRead(const std::filesystem::path& path);
// Opens a folder and takes its lock, which whoever holds a copy of the descriptor keeps; EWOULDBLOCK: another has it.
// Not locked on a file system without locks.
[[nodiscard]] OrErrno<Descriptor> lockedFolder(const std::filesystem::path& path);
[[nodiscard]] OrErrno<NewFile> createNew(const std::filesystem::path& path);
// Returns 0 or an errno. The file has the mode of the file that it replaces. The folder is flushed as well.
[[nodiscard]] int name(NewFile& file, Naming naming);
void discard(NewFile& file);
[[nodiscard]] int remove(const std::filesystem::path& path);

}  // namespace normlens::direct
