#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "core/formats/file/mapped_file.h"

namespace normlens::formats {
namespace {

// Closes on every way out.
class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  [[nodiscard]] int get() const { return fd_; }
  int release() { return std::exchange(fd_, -1); }

 private:
  int fd_;
};

}  // namespace

Result<std::shared_ptr<const MappedFile>> MappedFile::open(const std::filesystem::path& path) {
  const std::string shown = path.string();
  // O_NONBLOCK: opening a named pipe must not wait for a writer.
  Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (file.get() < 0) {
    if (errno == ENOENT || errno == ENOTDIR)
      return fail(ErrorCode::Unreadable, "there is no file " + shown, "check the path");
    return fail(ErrorCode::Unreadable, shown + " cannot be opened: " + std::strerror(errno),
                "check the file's permissions");
  }
  struct stat info {};
  if (::fstat(file.get(), &info) != 0)
    return fail(ErrorCode::Unreadable, shown + " cannot be read: " + std::strerror(errno));
  if (S_ISDIR(info.st_mode))
    return fail(ErrorCode::Unreadable, shown + " is a folder, not a model file", "name the file inside it");
  if (!S_ISREG(info.st_mode))
    return fail(ErrorCode::Unreadable, shown + " is not a regular file", "copy the model into a file first");
  std::shared_ptr<MappedFile> mapped(new MappedFile);
  mapped->path_ = path;
  mapped->size_ = static_cast<size_t>(info.st_size);
  mapped->modified_ = int64_t{info.st_mtim.tv_sec} * 1'000'000'000 + info.st_mtim.tv_nsec;
  if (mapped->size_ == 0) return mapped;
  void* data = ::mmap(nullptr, mapped->size_, PROT_READ, MAP_PRIVATE, file.get(), 0);
  if (data == MAP_FAILED)
    return fail(ErrorCode::Unreadable, shown + " cannot be mapped into memory: " + std::strerror(errno));
  mapped->data_ = static_cast<const std::byte*>(data);
  mapped->fd_ = file.release();
  return mapped;
}

bool MappedFile::readAt(uint64_t offset, std::span<std::byte> into) const {
  while (!into.empty()) {
    const ssize_t got = ::pread(fd_, into.data(), into.size(), static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    offset += static_cast<uint64_t>(got);
    into = into.subspan(static_cast<size_t>(got));
  }
  return true;
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) ::munmap(const_cast<std::byte*>(data_), size_);
  if (fd_ >= 0) ::close(fd_);
}

}  // namespace normlens::formats
