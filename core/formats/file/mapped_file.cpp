#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <functional>

#include "core/base/files.h"
#include "core/formats/file/mapped_file.h"

namespace normlens::formats {
namespace {

int64_t nanoseconds(const timespec& time) { return int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec; }

}  // namespace

Result<std::shared_ptr<const MappedFile>> MappedFile::open(const std::filesystem::path& path) {
  const std::string shown = path.string();
  if (path.empty()) return fail(ErrorCode::Unreadable, "the file's name is empty", "name a file");
  auto opened = files::openToRead(path);
  if (!opened) {
    if (opened.error() == ENOENT || opened.error() == ENOTDIR)
      return fail(ErrorCode::Unreadable, "there is no file " + shown, "check the path");
    return fail(ErrorCode::Unreadable, shown + " cannot be opened: " + std::strerror(opened.error()),
                "check the file's permissions; a model's data is not read from hidden files or folders");
  }
  Descriptor& file = *opened;
  struct stat info {};
  if (::fstat(file.get(), &info) != 0)
    return fail(ErrorCode::Unreadable, shown + " cannot be read: " + std::strerror(errno));
  if (S_ISDIR(info.st_mode))
    return fail(ErrorCode::Unreadable, shown + " is a folder, not a file", "name the file inside it");
  if (!S_ISREG(info.st_mode))
    return fail(ErrorCode::Unreadable, shown + " is not a regular file", "copy it into a file first");
  std::shared_ptr<MappedFile> mapped(new MappedFile);
  mapped->path_ = path;
  mapped->size_ = static_cast<size_t>(info.st_size);
  mapped->modified_ = nanoseconds(info.st_mtim);
  mapped->changed_ = nanoseconds(info.st_ctim);
  if (mapped->size_ == 0) return mapped;
  void* data = ::mmap(nullptr, mapped->size_, PROT_READ, MAP_PRIVATE, file.get(), 0);
  if (data == MAP_FAILED)
    return fail(ErrorCode::Unreadable, shown + " cannot be mapped into memory: " + std::strerror(errno));
  mapped->data_ = static_cast<const std::byte*>(data);
  mapped->fd_ = file.release();
  return mapped;
}

std::shared_ptr<const MappedFile> MappedFile::part(std::shared_ptr<const MappedFile> whole, uint64_t offset,
                                                   uint64_t size) {
  if (offset > whole->size_ || size > whole->size_ - offset) return nullptr;
  std::shared_ptr<MappedFile> made(new MappedFile);
  made->path_ = whole->path_;
  made->modified_ = whole->modified_;
  made->data_ = whole->data_ + offset;
  made->size_ = size;
  made->start_ = offset;
  made->whole_ = std::move(whole);
  return made;
}

std::span<std::byte> MappedFile::copyOnWrite() const {
  if (whole_) {
    const auto all = whole_->copyOnWrite();
    return all.empty() ? all : all.subspan(start_, size_);
  }
  std::call_once(copied_, [&] {
    if (size_ == 0) return;
    void* data = ::mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_NORESERVE, fd_, 0);
    if (data != MAP_FAILED) copy_ = static_cast<std::byte*>(data);
  });
  return {copy_, copy_ == nullptr ? 0 : size_};
}

std::optional<uint64_t> MappedFile::offsetOf(std::span<const std::byte> bytes) const {
  if (whole_) {
    const auto offset = whole_->offsetOf(bytes);
    const bool inside = offset && *offset >= start_ && *offset - start_ + bytes.size() <= size_;
    return inside ? std::optional(*offset - start_) : std::nullopt;
  }
  const std::less_equal<> before;
  for (const std::byte* base : {data_, static_cast<const std::byte*>(copy_)}) {
    if (base == nullptr || bytes.size() > size_ || !before(base, bytes.data())) continue;
    if (before(bytes.data(), base + (size_ - bytes.size()))) return static_cast<uint64_t>(bytes.data() - base);
  }
  return std::nullopt;
}

// The bytes that a run has written to the copy are gone as well: runs start from the file's state.
void MappedFile::letGo(std::span<const std::byte> bytes) const {
  if (whole_) return whole_->letGo(bytes);
  static const auto page = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  const auto offset = offsetOf(bytes);
  if (!offset) return;
  const size_t skipped = (page - *offset % page) % page;  // mappings start at a page
  if (bytes.size() < skipped + page) return;
  const auto whole = bytes.subspan(skipped, (bytes.size() - skipped) / page * page);
  ::madvise(const_cast<std::byte*>(whole.data()), whole.size(), MADV_DONTNEED);
}

bool MappedFile::readAt(uint64_t offset, std::span<std::byte> into) const {
  if (whole_) return offset <= size_ && into.size() <= size_ - offset && whole_->readAt(start_ + offset, into);
  while (!into.empty()) {
    const ssize_t got = ::pread(fd_, into.data(), into.size(), static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    offset += static_cast<uint64_t>(got);
    into = into.subspan(static_cast<size_t>(got));
  }
  return true;
}

bool MappedFile::untouched() const {
  if (whole_) return whole_->untouched();
  struct stat info {};
  if (size_ == 0) return true;
  return ::fstat(fd_, &info) == 0 && static_cast<size_t>(info.st_size) == size_ &&
         nanoseconds(info.st_mtim) == modified_ && nanoseconds(info.st_ctim) == changed_;
}

bool MappedFile::asLong() const {
  if (whole_) return whole_->asLong();
  struct stat info {};
  return size_ == 0 || (::fstat(fd_, &info) == 0 && static_cast<size_t>(info.st_size) == size_);
}

tl::unexpected<Error> changedSinceOpened(const std::filesystem::path& path) {
  return fail(ErrorCode::Unreadable,
              path.string() + " has changed on the disk since it was opened, so nothing was written", "open it again");
}

MappedFile::~MappedFile() {
  if (whole_) return;
  if (data_ != nullptr) ::munmap(const_cast<std::byte*>(data_), size_);
  if (copy_ != nullptr) ::munmap(copy_, size_);
  if (fd_ >= 0) ::close(fd_);
}

}  // namespace normlens::formats
