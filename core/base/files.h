// Every file that the engine opens by a path is opened here.
//
// A confined process (core/confine) has no way to files of its own: it requests them from the process that started it,
// which hands over descriptors of what the user named and of nothing else. Any other process opens files itself.
// Callers do not see the difference. Whether a file is there, and its size, may be read from the file system by
// anybody. The door is the process's, as its confinement is: it is set once, before other threads are. Errors are errno
// values; EACCES where the keeper of the door refuses. Thread: any.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/direct_files.h"

namespace normlens::files {

using direct::Naming;
using direct::OrErrno;

[[nodiscard]] OrErrno<Descriptor> openToRead(const std::filesystem::path& path);
[[nodiscard]] OrErrno<Descriptor> lockedFolder(const std::filesystem::path& folder);  // see direct::lockedFolder
// Returns names in a folder, in no order.
[[nodiscard]] OrErrno<std::vector<std::string>> namesIn(const Descriptor& folder);
[[nodiscard]] int remove(const std::filesystem::path& path);
// Returns whether the file is one of these under any name, or would be if there were one. An empty name is none.
[[nodiscard]] bool isOneOf(const std::vector<std::filesystem::path>& all, const std::filesystem::path& file);
// Returns the whole of a small regular file. EFBIG: it has more than `most` bytes; EINVAL: it is no regular file.
[[nodiscard]] OrErrno<std::string> readSmall(const std::filesystem::path& path, size_t most);

// A file that gets its name once it is complete, see direct::NewFile. Given up where it was not named.
class NewFile {
 public:
  [[nodiscard]] static OrErrno<NewFile> create(const std::filesystem::path& path);
  ~NewFile();
  NewFile(NewFile&& other) noexcept;
  NewFile& operator=(NewFile&&) = delete;
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;

  [[nodiscard]] int descriptor() const { return own_.file.get(); }
  [[nodiscard]] int name(Naming naming);

 private:
  NewFile() = default;
  direct::NewFile own_;  // behind a door: its descriptor alone
  int64_t ticket_ = 0;   // 0: of this process's own making
};

// From now on this process requests files through `socket` (door_wire.h).
void useDoor(Descriptor socket);

}  // namespace normlens::files
