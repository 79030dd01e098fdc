#include "core/formats/file/atomic_file.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>
#include <vector>

#include "core/base/map_ahead.h"

namespace normlens::formats {
namespace {

constexpr size_t kWorthMapping = size_t{256} << 10;  // less is written sooner than two threads have met

tl::unexpected<Error> writeError(const std::filesystem::path& path, int error) {
  const std::string file = path.string() + " cannot be written: ";
  switch (error) {
    case ENOSPC:
    case EDQUOT:
      return fail(ErrorCode::WriteFailed, file + "the disk is full", "free some space or choose another folder");
    case EACCES:
    case EPERM:
    case EROFS:
      return fail(ErrorCode::WriteFailed, file + "no permission", "choose a folder that you may write to");
    case ENOENT:
    case ENOTDIR:
      return fail(ErrorCode::WriteFailed, file + "its folder does not exist",
                  "create the folder or choose another one");
    case EEXIST:
      return fail(ErrorCode::WriteFailed, file + "another program has just made a file of that name", "try again");
    default:
      return fail(ErrorCode::WriteFailed, file + std::strerror(error), "choose another folder");
  }
}

mode_t modeOfNewFiles() {
  const mode_t mask = ::umask(0);
  ::umask(mask);
  return 0666U & ~mask;
}

// A file system that cannot tell a free name in the same step is asked before.
int renameToFree(const std::filesystem::path& from, const std::filesystem::path& to) {
  const int done = ::renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_NOREPLACE);
  if (done == 0 || (errno != EINVAL && errno != ENOSYS)) return done;
  struct stat there {};
  if (::lstat(to.c_str(), &there) == 0) {
    errno = EEXIST;
    return -1;
  }
  return ::rename(from.c_str(), to.c_str());
}

// 0 or an errno. A file system that cannot reserve space still can write.
int reserve(int descriptor, uint64_t size) {
  if (size == 0) return 0;
  struct statfs system {};
  if (::fstatfs(descriptor, &system) == 0 && system.f_type == TMPFS_MAGIC) {
    const bool limited = system.f_blocks > 0;
    return limited && size / static_cast<uint64_t>(system.f_bsize) > system.f_bavail ? ENOSPC : 0;
  }
  return ::fallocate(descriptor, 0, 0, static_cast<off_t>(size)) == 0 ? 0 : errno;
}

}  // namespace

AtomicFile::AtomicFile(std::filesystem::path path, std::filesystem::path temporary, int descriptor)
    : path_(std::move(path)), temporary_(std::move(temporary)), descriptor_(descriptor) {}

AtomicFile::AtomicFile(AtomicFile&& other) noexcept
    : path_(std::move(other.path_)),
      temporary_(std::move(other.temporary_)),
      descriptor_(std::exchange(other.descriptor_, -1)) {}

AtomicFile::~AtomicFile() { discard(); }

void AtomicFile::discard() {
  if (descriptor_ < 0) return;
  ::close(std::exchange(descriptor_, -1));
  ::unlink(temporary_.c_str());
}

tl::unexpected<Error> AtomicFile::failed(int error) const { return writeError(path_, error); }

Result<AtomicFile> AtomicFile::create(const std::filesystem::path& path, uint64_t size) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) return writeError(path, EISDIR);
  std::string name = path.string() + ".XXXXXX";
  const int descriptor = ::mkstemp(name.data());
  if (descriptor < 0) return writeError(path, errno);
  AtomicFile file(path, name, descriptor);
  if (const int error = reserve(descriptor, size); error == ENOSPC || error == EDQUOT) return file.failed(error);
  return file;
}

Status AtomicFile::writeAt(uint64_t offset, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::pwrite(descriptor_, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return failed(written < 0 ? errno : EIO);
    offset += static_cast<uint64_t>(written);
    bytes = bytes.subspan(static_cast<size_t>(written));
  }
  return {};
}

Status AtomicFile::writeAll(std::span<const FilePiece> pieces) {
  std::vector<FilePiece> strokes;
  std::vector<std::span<const std::byte>> mapped;
  for (const auto& piece : pieces) {
    for (size_t at = 0; at < piece.bytes.size(); at += kMapAheadBytes) {
      strokes.push_back(
          {piece.offset + at, piece.bytes.subspan(at, std::min(kMapAheadBytes, piece.bytes.size() - at))});
      if (strokes.back().bytes.size() >= kWorthMapping) mapped.push_back(strokes.back().bytes);
    }
  }
  AheadMapper mapper(std::move(mapped));
  for (const auto& stroke : strokes) {
    if (stroke.bytes.size() >= kWorthMapping) mapper.awaitNext();
    if (auto status = writeAt(stroke.offset, stroke.bytes); !status) return status;
  }
  return {};
}

Status AtomicFile::flush(unsigned int mode) {
  if (::fchmod(descriptor_, static_cast<mode_t>(mode)) != 0 && errno != EPERM) return failed(errno);
  if (::fsync(descriptor_) != 0) return failed(errno);
  return {};
}

// The rename itself reaches the disk with the folder.
void AtomicFile::close() {
  ::close(std::exchange(descriptor_, -1));
  const auto folder = path_.has_parent_path() ? path_.parent_path() : std::filesystem::path(".");
  const int parent = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (parent < 0) return;
  ::fsync(parent);
  ::close(parent);
}

Status AtomicFile::commit() {
  struct stat old {};
  const mode_t mode = ::stat(path_.c_str(), &old) == 0 ? old.st_mode & 07777U : modeOfNewFiles();
  if (auto status = flush(mode); !status) return status;
  if (::rename(temporary_.c_str(), path_.c_str()) != 0) return failed(errno);
  close();
  return {};
}

Status AtomicFile::commitNew() {
  if (auto status = flush(modeOfNewFiles()); !status) return status;
  if (renameToFree(temporary_, path_) != 0) return failed(errno);
  close();
  return {};
}

}  // namespace normlens::formats
