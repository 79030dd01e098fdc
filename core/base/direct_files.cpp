#include "core/base/direct_files.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <string_view>
#include <utility>

namespace normlens::direct {
namespace {

namespace fs = std::filesystem;

constexpr size_t kRandomLetters = 6;  // mkstemp wants as many.

Descriptor openFolder(const fs::path& path) {
  return Descriptor(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
}

fs::path folderOf(const fs::path& path) { return path.has_parent_path() ? path.parent_path() : fs::path("."); }

// The start of a temporary name that is ours beside `target`; random letters follow. Hidden, and like nobody else's. A
// long name of the target is cut, since no name has more than NAME_MAX bytes.
std::string temporaryStart(const fs::path& target) {
  constexpr std::string_view kMark = ".normlens-";
  constexpr size_t kMost = NAME_MAX - 1 - kMark.size() - kRandomLetters;
  return "." + target.filename().string().substr(0, kMost) + std::string(kMark);
}

void removeStaleBeside(const fs::path& target) {
  const std::string start = temporaryStart(target);
  removeStale(folderOf(target), [&](std::string_view name) { return isTemporaryName(name, start); });
}

OrErrno<NewFile> createNamed(const fs::path& target) {
  removeStaleBeside(target);
  std::string name = (folderOf(target) / temporaryStart(target)).string() + std::string(kRandomLetters, 'X');
  Descriptor file(::mkostemp(name.data(), O_CLOEXEC));
  if (!file) return tl::unexpected(errno);
  ::flock(file.get(), LOCK_EX | LOCK_NB);
  return NewFile{std::move(file), target, name};
}

bool lacksUnnamedFiles(int error) { return error == EOPNOTSUPP || error == EISDIR || error == EINVAL; }

// A file system that cannot reject a taken name in the same step is checked before.
int renameToFree(const fs::path& from, const fs::path& to) {
  if (::renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_NOREPLACE) == 0) return 0;
  if (errno != EINVAL && errno != ENOSYS) return errno;
  struct stat there {};
  if (::lstat(to.c_str(), &there) == 0) return EEXIST;
  return ::rename(from.c_str(), to.c_str()) == 0 ? 0 : errno;
}

int linkTo(const NewFile& file, const fs::path& path) {
  const std::string self = "/proc/self/fd/" + std::to_string(file.file.get());
  return ::linkat(AT_FDCWD, self.c_str(), AT_FDCWD, path.c_str(), AT_SYMLINK_FOLLOW) == 0 ? 0 : errno;
}

// A name cannot be given over another in one step: a free one first, for the moment until the rename.
int linkOver(const NewFile& file) {
  constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyz";
  constexpr int kTries = 100;
  std::random_device random;
  for (int tries = 0; tries < kTries; ++tries) {
    std::string name = (folderOf(file.target) / temporaryStart(file.target)).string();
    for (size_t i = 0; i < kRandomLetters; ++i) name += kLetters[random() % kLetters.size()];
    int error = linkTo(file, name);
    if (error == EEXIST) continue;
    if (error == 0 && ::rename(name.c_str(), file.target.c_str()) != 0) {
      error = errno;
      ::unlink(name.c_str());
    }
    return error;
  }
  return EEXIST;
}

int nameOnce(NewFile& file, Naming naming) {
  if (file.temporary.empty()) return naming == Naming::Replace ? linkOver(file) : linkTo(file, file.target);
  if (naming == Naming::OnlyNew) return renameToFree(file.temporary, file.target);
  return ::rename(file.temporary.c_str(), file.target.c_str()) == 0 ? 0 : errno;
}

// 0: the name is free, or a plain file's. A device or a pipe (/dev/null) is nobody's to replace.
int inTheWay(const fs::path& target) {
  struct stat there {};
  if (::lstat(target.c_str(), &there) != 0 || S_ISREG(there.st_mode)) return 0;
  return S_ISDIR(there.st_mode) ? EISDIR : ENXIO;
}

// Gives the file the mode of the file it replaces, else that of any new file. Some file systems have no modes to set.
void setMode(const NewFile& file, Naming naming) {
  constexpr mode_t kPermissions = 0777;
  const mode_t mask = ::umask(0);
  ::umask(mask);
  struct stat old {};
  const bool replaces = naming == Naming::Replace && ::stat(file.target.c_str(), &old) == 0;
  ::fchmod(file.file.get(), replaces ? old.st_mode & kPermissions : 0666U & ~mask);
}

}  // namespace

fs::path behindLinks(const fs::path& path) {
  std::error_code error;
  fs::path at = path;
  constexpr int kMostLinks = 40;  // as the kernel
  for (int i = 0; i < kMostLinks && fs::is_symlink(at, error); ++i) {
    const fs::path to = fs::read_symlink(at, error);
    if (error) return path;
    at = to.is_absolute() ? to : folderOf(at) / to;
  }
  return at;
}

// A file system over a network locks only what is open to write.
Descriptor locked(const fs::path& path, IfHeld ifHeld) {
  struct stat info {};
  if (::lstat(path.c_str(), &info) != 0 || info.st_uid != ::geteuid()) return Descriptor();
  const int how = S_ISDIR(info.st_mode) ? O_RDONLY | O_DIRECTORY : O_RDWR | O_NONBLOCK;
  Descriptor file(::open(path.c_str(), how | O_CLOEXEC | O_NOFOLLOW));
  const bool same = file && ::fstat(file.get(), &info) == 0 && info.st_uid == ::geteuid();
  const bool known = S_ISDIR(info.st_mode) || (S_ISREG(info.st_mode) && info.st_nlink == 1);
  const int waiting = ifHeld == IfHeld::Wait ? 0 : LOCK_NB;
  return same && known && ::flock(file.get(), LOCK_EX | waiting) == 0 ? std::move(file) : Descriptor();
}

void removeStale(const fs::path& folder, const std::function<bool(std::string_view name)>& isOurs) {
  std::error_code error;
  fs::directory_iterator entries(folder, error);
  for (const fs::directory_iterator end; !error && entries != end; entries.increment(error)) {
    if (!isOurs(entries->path().filename().string())) continue;
    std::error_code ignored;
    if (const Descriptor stale = locked(entries->path(), IfHeld::GiveUp)) fs::remove_all(entries->path(), ignored);
  }
}

bool isTemporaryName(std::string_view name, std::string_view start) {
  return name.size() == start.size() + kRandomLetters && name.starts_with(start);
}

OrErrno<Descriptor> openToRead(const fs::path& path) {
  Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (!file) return tl::unexpected(errno);
  return file;
}

OrErrno<Descriptor> lockedFolder(const fs::path& path) {
  Descriptor folder(openFolder(path));
  const bool free = folder && (::flock(folder.get(), LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK);
  if (!free) return tl::unexpected(errno);
  return folder;
}

OrErrno<NewFile> createNew(const fs::path& path) {
  const fs::path target = behindLinks(path);
  if (const int error = inTheWay(target); error != 0) return tl::unexpected(error);
  Descriptor file(::open(folderOf(target).c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
  if (file) return NewFile{std::move(file), target, {}};
  if (lacksUnnamedFiles(errno)) return createNamed(target);
  return tl::unexpected(errno);
}

int name(NewFile& file, Naming naming) {
  setMode(file, naming);
  if (const int error = nameOnce(file, naming); error != 0) return error;
  file.temporary.clear();
  if (const Descriptor folder = openFolder(folderOf(file.target))) ::fsync(folder.get());
  return 0;
}

void discard(NewFile& file) {
  if (!file.temporary.empty()) ::unlink(std::exchange(file.temporary, {}).c_str());
  file.file.reset();  // with its lock: the name is nobody else's before
}

int remove(const fs::path& path) { return ::unlink(path.c_str()) == 0 ? 0 : errno; }

}  // namespace normlens::direct
