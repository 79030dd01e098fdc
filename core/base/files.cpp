#include "core/base/files.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <mutex>

#include "core/base/direct_files.h"
#include "core/base/door_wire.h"
#include "core/base/result.h"

namespace normlens::files {
namespace {

namespace fs = std::filesystem;
using door::Answer;
using door::Ask;
using door::Question;

struct Door {
  std::mutex mutex;  // a question and its answer belong together
  Descriptor socket;
};

Door& doorOfProcess() {
  static Door door;
  return door;
}

bool hasDoor() { return static_cast<bool>(doorOfProcess().socket); }

Answer ask(const Question& question) {
  Door& door = doorOfProcess();
  const std::lock_guard lock(door.mutex);
  if (!door::send(door.socket.get(), question)) return {.error = EIO, .ticket = 0, .handed = Descriptor()};
  auto answer = door::receiveAnswer(door.socket.get());
  return answer ? std::move(*answer) : Answer{.error = EIO, .ticket = 0, .handed = Descriptor()};
}

// Relative paths mean the same on both sides: neither changes its folder.
Answer ask(Ask what, const fs::path& path) { return ask({what, 0, path.string()}); }

OrErrno<Descriptor> handed(Answer answer) {
  if (answer.error != 0) return tl::unexpected(answer.error);
  if (!answer.handed) return tl::unexpected(EIO);
  return std::move(answer.handed);
}

}  // namespace

void useDoor(Descriptor socket) { doorOfProcess().socket = std::move(socket); }

OrErrno<Descriptor> openToRead(const fs::path& path) {
  return hasDoor() ? handed(ask(Ask::Read, path)) : direct::openToRead(path);
}

OrErrno<Descriptor> lockedFolder(const fs::path& folder) {
  return hasDoor() ? handed(ask(Ask::Folder, folder)) : direct::lockedFolder(folder);
}

OrErrno<std::vector<std::string>> namesIn(const Descriptor& folder) {
  Descriptor copy(::fcntl(folder.get(), F_DUPFD_CLOEXEC, 0));
  const std::unique_ptr<DIR, int (*)(DIR*)> listing(::fdopendir(copy.get()), ::closedir);
  if (!listing) return tl::unexpected(errno);
  copy.release();
  ::rewinddir(listing.get());
  std::vector<std::string> names;
  errno = 0;
  while (const dirent* entry = ::readdir(listing.get())) {
    const std::string name = entry->d_name;
    if (name != "." && name != "..") names.push_back(name);
  }
  if (errno != 0) return tl::unexpected(errno);
  return names;
}

int remove(const fs::path& path) { return hasDoor() ? ask(Ask::Remove, path).error : direct::remove(path); }

namespace {

// The place that a write to the path goes to, through links that lead to nothing yet, too.
fs::path placeOf(const fs::path& path) {
  std::error_code error;
  return fs::weakly_canonical(direct::behindLinks(fs::absolute(path, error)), error);
}

}  // namespace

bool isOneOf(const std::vector<fs::path>& all, const fs::path& file) {
  return std::ranges::any_of(all, [&](const fs::path& each) {
    if (each.empty()) return false;
    std::error_code error;
    if (fs::equivalent(each, file, error) && !error) return true;
    return placeOf(each) == placeOf(file);
  });
}

OrErrno<std::string> readSmall(const fs::path& path, size_t most) {
  ASSIGN_OR_RETURN(const auto file, openToRead(path));
  struct stat info {};
  if (::fstat(file.get(), &info) != 0) return tl::unexpected(errno);
  if (S_ISDIR(info.st_mode)) return tl::unexpected(EISDIR);
  if (!S_ISREG(info.st_mode)) return tl::unexpected(EINVAL);
  if (static_cast<uint64_t>(info.st_size) > most) return tl::unexpected(EFBIG);
  std::string text(static_cast<size_t>(info.st_size), '\0');
  for (size_t at = 0; at < text.size();) {
    const ssize_t got = ::pread(file.get(), text.data() + at, text.size() - at, static_cast<off_t>(at));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return tl::unexpected(errno);
    if (got == 0) text.resize(at);  // it has become shorter
    at += static_cast<size_t>(got);
  }
  return text;
}

OrErrno<NewFile> NewFile::create(const fs::path& path) {
  NewFile made;
  if (!hasDoor()) {
    ASSIGN_OR_RETURN(auto own, direct::createNew(path));
    made.own_ = std::move(own);
    return made;
  }
  Answer answer = ask(Ask::Create, path);
  made.ticket_ = answer.error == 0 ? answer.ticket : 0;
  ASSIGN_OR_RETURN(auto file, handed(std::move(answer)));
  made.own_.file = std::move(file);
  return made;
}

NewFile::NewFile(NewFile&& other) noexcept : own_(std::move(other.own_)), ticket_(std::exchange(other.ticket_, 0)) {
  other.own_.temporary.clear();
}

NewFile::~NewFile() {
  if (ticket_ != 0) ask({Ask::Drop, ticket_});
  direct::discard(own_);
}

int NewFile::name(Naming naming) {
  if (ticket_ == 0) return direct::name(own_, naming);
  const Ask what = naming == Naming::Replace ? Ask::NameOver : Ask::NameNew;
  return ask({what, std::exchange(ticket_, 0)}).error;
}

}  // namespace normlens::files
