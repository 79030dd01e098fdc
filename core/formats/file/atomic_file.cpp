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

#include "core/formats/file/strokes_ahead.h"
#include "core/formats/file/write_progress.h"

namespace normlens::formats {
namespace {

tl::unexpected<Error> writeError(const std::filesystem::path& path, int error) {
  const std::string file = path.string() + " cannot be written: ";
  switch (error) {
    case ENOSPC:
    case EDQUOT:
      return fail(ErrorCode::WriteFailed, file + "the disk is full", "free some space or choose another folder");
    case EFBIG:
      return fail(ErrorCode::WriteFailed, file + "it would be larger than this process or file system lets a file be",
                  "raise the limit (ulimit -f) or choose another folder");
    case EACCES:
    case EPERM:
    case EROFS:
      return fail(ErrorCode::WriteFailed, file + "no permission", "choose a folder that you may write to");
    case ENOENT:
    case ENOTDIR:
      return fail(ErrorCode::WriteFailed, file + "its folder does not exist",
                  "create the folder or choose another one");
    case EISDIR:
      return fail(ErrorCode::WriteFailed, file + "it is a folder", "choose another name");
    case ENXIO:
      return fail(ErrorCode::WriteFailed, file + "it is a device or a pipe, not a plain file", "choose another name");
    case EEXIST:
      return fail(ErrorCode::WriteFailed, file + "another program has just made a file of that name", "try again");
    default:
      return fail(ErrorCode::WriteFailed, file + std::strerror(error), "choose another folder");
  }
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

Status checkSpace(const std::filesystem::path& path, uint64_t bytes) {
  struct statfs system {};
  const auto folder = path.has_parent_path() ? path.parent_path() : std::filesystem::path(".");
  if (::statfs(folder.c_str(), &system) != 0 || system.f_blocks == 0) return {};  // the write reports it
  const auto block = static_cast<uint64_t>(system.f_bsize);
  return bytes / block > system.f_bavail ? writeError(path, ENOSPC) : Status();
}

tl::unexpected<Error> AtomicFile::failed(int error) const { return writeError(path_, error); }

Result<AtomicFile> AtomicFile::create(const std::filesystem::path& path, uint64_t size) {
  auto made = files::NewFile::create(path);
  if (!made) return writeError(path, made.error());
  const int error = reserve(made->descriptor(), size);
  if (error == ENOSPC || error == EDQUOT) return writeError(path, error);
  return AtomicFile(path, std::move(*made));
}

Status AtomicFile::writeAt(uint64_t offset, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::pwrite(file_.descriptor(), bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return failed(written < 0 ? errno : EIO);
    offset += static_cast<uint64_t>(written);
    bytes = bytes.subspan(static_cast<size_t>(written));
  }
  return {};
}

Status AtomicFile::writeAll(std::span<const FilePiece> pieces, const Task& task) {
  StrokesAhead ahead(pieces);
  WriteProgress progress(ahead.bytes(), path_, task);
  while (const auto stroke = ahead.next()) {
    if (!*stroke) return tl::unexpected(stroke->error());
    const auto& [offset, bytes] = **stroke;
    if (auto status = writeAt(offset, bytes); !status) return status;
    if (auto status = progress.wrote(bytes.size()); !status) return status;
  }
  return {};
}

Status AtomicFile::nameIt(files::Naming naming) {
  if (::fsync(file_.descriptor()) != 0) return failed(errno);
  if (const int error = file_.name(naming); error != 0) return failed(error);
  return {};
}

Status AtomicFile::commit() { return nameIt(files::Naming::Replace); }

Status AtomicFile::commitNew() { return nameIt(files::Naming::OnlyNew); }

}  // namespace normlens::formats
