#include "core/formats/file/atomic_file.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "core/base/formatted.h"
#include "core/base/map_ahead.h"
#include "core/base/plain_error.h"
#include "core/base/stopwatch.h"
#include "core/base/task.h"

namespace normlens::formats {
namespace {

// The pieces of a file in strokes, each made ready while the one before it is written.
// Thread: one owner; the strokes are made on a thread of its own, which the destructor ends. The pieces outlive it.
class StrokesAhead {
 public:
  struct Stroke {
    uint64_t offset = 0;
    std::span<const std::byte> bytes;  // until the next call
  };
  explicit StrokesAhead(std::span<const FilePiece> pieces);
  ~StrokesAhead();
  StrokesAhead(const StrokesAhead&) = delete;
  StrokesAhead& operator=(const StrokesAhead&) = delete;

  // Returns the bytes of all pieces.
  [[nodiscard]] uint64_t bytes() const { return total_; }
  // nullopt: that was all.
  [[nodiscard]] std::optional<Result<Stroke>> next();

 private:
  static constexpr size_t kAhead = 4;

  struct Part {
    const FilePiece* piece;
    uint64_t at;
    size_t size;
  };
  void run();
  [[nodiscard]] Status prepare(size_t part);

  std::vector<Part> parts_;
  std::array<std::vector<std::byte>, kAhead> buffers_;
  std::array<Status, kAhead> made_;
  std::array<std::span<const std::byte>, kAhead> ready_;
  uint64_t total_ = 0;
  size_t taken_ = 0;                        // parts
  std::atomic<size_t> prepared_ = 0;        // parts
  std::atomic<size_t> limit_ = kAhead - 1;  // up to which it may go on
  std::atomic<bool> ended_ = false;
  std::thread worker_;
};

constexpr size_t kMadeBytes = size_t{1} << 20;       // stays in a cache until it is written
constexpr size_t kWorthMapping = size_t{256} << 10;  // less is mapped as it is written

StrokesAhead::StrokesAhead(std::span<const FilePiece> pieces) {
  for (const FilePiece& piece : pieces) {
    const uint64_t most = piece.make ? kMadeBytes : kMapAheadBytes;
    for (uint64_t at = 0; at < piece.bytes.size(); at += most)
      parts_.push_back({&piece, at, std::min(most, piece.bytes.size() - at)});
    total_ += piece.bytes.size();
  }
  worker_ = std::thread([this] { run(); });
}

StrokesAhead::~StrokesAhead() {
  ended_ = true;
  limit_ = parts_.size() + kAhead;
  limit_.notify_one();
  worker_.join();
}

void StrokesAhead::run() {
  for (size_t part = 0; part < parts_.size(); ++part) {
    for (size_t limit = limit_; part >= limit; limit = limit_) limit_.wait(limit);
    if (ended_) return;
    try {
      made_[part % kAhead] = prepare(part);
    } catch (const std::exception& error) {
      made_[part % kAhead] = fail(ErrorCode::WriteFailed, "nothing was written: " + plainError(error));
    }
    prepared_ = part + 1;
    prepared_.notify_one();
  }
}

Status StrokesAhead::prepare(size_t part) {
  const auto& [piece, at, size] = parts_[part];
  auto& bytes = ready_[part % kAhead];
  if (piece->make) {
    auto& buffer = buffers_[part % kAhead];
    buffer.resize(size);
    bytes = buffer;
    RETURN_IF_ERROR(piece->make(at, buffer));
  } else {
    bytes = piece->bytes.subspan(at, size);
    if (size >= kWorthMapping) mapAhead(bytes);
  }
  if (piece->see) piece->see(bytes);
  return {};
}

std::optional<Result<StrokesAhead::Stroke>> StrokesAhead::next() {
  if (taken_ == parts_.size()) return std::nullopt;
  const size_t part = taken_++;
  limit_ = part + kAhead;  // the buffer of the one before it is free
  limit_.notify_one();
  for (size_t prepared = prepared_; prepared <= part; prepared = prepared_) prepared_.wait(prepared);
  const size_t slot = part % kAhead;
  if (!made_[slot]) return Result<Stroke>(tl::unexpected(made_[slot].error()));
  return Result<Stroke>(Stroke{parts_[part].piece->offset + parts_[part].at, ready_[slot]});
}

// Reports in words how far a file is that is being written: "writing out.onnx: 312 of 498 MB, 410 MB/s, 1 s left".
class WriteProgress {
 public:
  WriteProgress(uint64_t total, const std::filesystem::path& path, const Task& task)
      : total_(total), what_("writing " + path.filename().string()), task_(task) {}

  // Errors: Cancelled.
  [[nodiscard]] Status wrote(uint64_t bytes);

 private:
  [[nodiscard]] std::string words(double ms) const;

  uint64_t total_, done_ = 0;
  double toldAt_ = 0;  // ms
  std::string what_;
  const Task& task_;
  Stopwatch watch_;
};

constexpr double kToldEveryMs = 200;

Status WriteProgress::wrote(uint64_t bytes) {
  done_ += bytes;
  const double ms = watch_.ms();
  if (ms - toldAt_ >= kToldEveryMs) {
    toldAt_ = ms;
    task_.report(words(ms), static_cast<double>(done_) / static_cast<double>(total_));
  }
  return task_.check();
}

std::string WriteProgress::words(double ms) const {
  const double done = static_cast<double>(done_) / 1e6, total = static_cast<double>(total_) / 1e6;
  const double rate = done / ms * 1e3;  // MB/s
  return what_ + ": " + formatted("%.0f", done) + " of " + formatted("%.0f MB, ", total) +
         formatted("%.0f MB/s, ", rate) + formatted("%.0f s left", std::ceil((total - done) / rate));
}

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
    case ENAMETOOLONG:
      return fail(ErrorCode::WriteFailed, file + "its name is too long", "choose a shorter one");
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
    RETURN_IF_ERROR(writeAt(offset, bytes));
    RETURN_IF_ERROR(progress.wrote(bytes.size()));
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
