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

#include "core/formats/file/crc32.h"
#include "core/formats/file/kept_part.h"
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
    case EAGAIN:
      return fail(ErrorCode::WriteFailed, file + "another fold is writing it", "wait for it or choose another name");
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

// Whether the file still has what an earlier writer recorded of the pieces.
Result<bool> isAsRecorded(int descriptor, std::span<const FilePiece> pieces, const KeptPart& part, const Task& task) {
  std::vector<std::byte> buffer(size_t{1} << 20);
  const uint64_t written = part.written();
  uint32_t sum = 0;
  uint64_t read = 0;
  for (const FilePiece& piece : pieces) {
    for (uint64_t at = 0; at < piece.bytes.size() && read < written;) {
      const uint64_t wanted = std::min({uint64_t{buffer.size()}, piece.bytes.size() - at, written - read});
      if (!readBack(descriptor, piece.offset + at, std::span(buffer).first(wanted))) return false;
      sum = crcOf(sum, buffer.data(), wanted);
      at += wanted;
      read += wanted;
      task.report("checking what an earlier fold has written",
                  static_cast<double>(read) / static_cast<double>(written));
      if (auto status = task.check(); !status) return tl::unexpected(status.error());
    }
  }
  return sum == part.sum();
}

}  // namespace

Status checkSpace(const std::filesystem::path& path, uint64_t bytes) {
  struct statfs system {};
  const auto folder = path.has_parent_path() ? path.parent_path() : std::filesystem::path(".");
  if (::statfs(folder.c_str(), &system) != 0 || system.f_blocks == 0) return {};  // it is told when it is written
  const auto block = static_cast<uint64_t>(system.f_bsize);
  return bytes / block > system.f_bavail ? writeError(path, ENOSPC) : Status();
}

tl::unexpected<Error> AtomicFile::failed(int error) const { return writeError(path_, error); }

uint64_t keptBytes(const std::filesystem::path& path) {
  struct stat part {};
  constexpr uint64_t kBlock = 512;  // of st_blocks
  return ::stat(direct::partOf(direct::behindLinks(path)).c_str(), &part) == 0
             ? static_cast<uint64_t>(part.st_blocks) * kBlock
             : 0;
}

Result<AtomicFile> AtomicFile::create(const std::filesystem::path& path, uint64_t size) {
  auto made = files::NewFile::create(path);
  if (!made) return writeError(path, made.error());
  return reserved(AtomicFile(path, std::move(*made), size));
}

Result<AtomicFile> AtomicFile::reserved(AtomicFile file) {
  const int error = reserve(file.file_.descriptor(), file.size_);
  if (error == ENOSPC || error == EDQUOT) return file.failed(error);
  return file;
}

Result<AtomicFile> AtomicFile::takeUp(const std::filesystem::path& path, uint64_t size) {
  auto made = files::NewFile::takeUp(path);
  if (made && made->kept()) return AtomicFile(path, std::move(*made), size);
  if (made) return reserved(AtomicFile(path, std::move(*made), size));
  if (made.error() != EEXIST) return writeError(path, made.error());
  return fail(ErrorCode::WriteFailed,
              direct::partOf(path).string() + " is in the way: it is no plain file of yours that a fold has left",
              "remove it or choose another name");
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

Status AtomicFile::writeAll(std::span<const FilePiece> pieces, const Task& task, const ContentDigest& digest) {
  if (!file_.kept()) return writeStrokes(pieces, task, nullptr);
  KeptPart part(file_.descriptor(), size_, digest ? digest() : std::string());
  if (auto status = begin(part, pieces, task); !status) return status;
  auto status = writeStrokes(pieces, task, &part);
  // Where it was stopped, and of a disk that is full, as much as is there.
  if (const int error = part.record(); error != 0 && status) return failed(error);
  return status;
}

Status AtomicFile::begin(KeptPart& part, std::span<const FilePiece> pieces, const Task& task) {
  if (part.isOurs()) {
    const auto same = isAsRecorded(file_.descriptor(), pieces, part, task);
    if (!same) return tl::unexpected(same.error());
    if (!*same) part.disown();
  }
  if (const int error = file_.cut(part.isOurs() ? part.end() : 0); error != 0) return failed(error);
  if (part.isOurs()) return {};
  int error = reserve(file_.descriptor(), part.end());
  if (error != ENOSPC && error != EDQUOT) error = part.begin();
  if (error == 0) return {};
  static_cast<void>(file_.cut(0));  // nothing is left of it then
  return failed(error);
}

// part: null where nothing is kept.
Status AtomicFile::writeStrokes(std::span<const FilePiece> pieces, const Task& task, KeptPart* part) {
  const uint64_t there = part == nullptr ? 0 : part->written();
  StrokesAhead ahead(pieces, {there, file_.descriptor()});
  WriteProgress progress(ahead.bytes(), there, path_, task);
  while (const auto stroke = ahead.next()) {
    if (!*stroke) return tl::unexpected(stroke->error());
    const auto& [offset, bytes, isThere] = **stroke;
    if (auto status = isThere ? task.check() : writeAt(offset, bytes); !status) return status;
    if (isThere) continue;
    if (const int error = part == nullptr ? 0 : part->wrote(bytes); error != 0) return failed(error);
    if (auto status = progress.wrote(bytes.size()); !status) return status;
  }
  return {};
}

Status AtomicFile::nameIt(files::Naming naming) {
  if (const int error = file_.kept() ? file_.cut(size_) : 0; error != 0) return failed(error);
  if (::fsync(file_.descriptor()) != 0) return failed(errno);
  if (const int error = file_.name(naming); error != 0) return failed(error);
  return {};
}

Status AtomicFile::commit() { return nameIt(files::Naming::Replace); }

Status AtomicFile::commitNew() { return nameIt(files::Naming::OnlyNew); }

}  // namespace normlens::formats
