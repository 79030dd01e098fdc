#include "core/confine/doorkeeper.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <vector>

#include "core/base/direct_files.h"
#include "core/formats/file/file_kind.h"

namespace normlens::confine {
namespace {

namespace fs = std::filesystem;
using door::Answer;
using door::Ask;
using door::Question;

bool liesOpenlyIn(const fs::path& folder, const fs::path& file) {
  const auto [rest, below] = std::ranges::mismatch(folder, file);
  return rest == folder.end() &&
         std::none_of(below, file.end(), [](const fs::path& name) { return name.string().starts_with('.'); });
}

constexpr size_t kMostUnnamed = 4096;    // data files of one export
constexpr size_t kMostHanded = 100'000;  // that are remembered between two answers

Answer refused(int error) { return {.error = error, .ticket = 0, .handed = Descriptor()}; }
Descriptor copyOf(const Descriptor& fd) { return Descriptor(::fcntl(fd.get(), F_DUPFD_CLOEXEC, 0)); }

bool isRegular(const Descriptor& file) {
  struct stat info {};
  return ::fstat(file.get(), &info) == 0 && S_ISREG(info.st_mode);
}

bool isOnnx(const Descriptor& file) {
  std::array<std::byte, 4096> head{};
  const ssize_t got = ::pread(file.get(), head.data(), head.size(), 0);
  return got > 0 && formats::detectKind(std::span(head).first(static_cast<size_t>(got))) == formats::FileKind::Onnx;
}

bool mentions(const Descriptor& file, const std::string& name) {
  constexpr size_t kStep = size_t{1} << 20;
  std::string text;
  std::vector<char> bytes(kStep);
  for (off_t at = 0;;) {
    const ssize_t got = ::pread(file.get(), bytes.data(), bytes.size(), at);
    if (got <= 0) return false;
    at += got;
    text.append(bytes.data(), static_cast<size_t>(got));
    if (text.find(name) != std::string::npos) return true;
    text.erase(0, text.size() - std::min(text.size(), name.size()));
  }
}

std::pair<dev_t, ino_t> fileAt(const fs::path& path) {
  struct stat info {};
  return ::lstat(path.c_str(), &info) == 0 ? std::pair(info.st_dev, info.st_ino) : std::pair(dev_t{0}, ino_t{0});
}

bool same(const timespec& a, const timespec& b) { return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec; }

}  // namespace

fs::path Grants::resolved(const Path& path) {
  if (path.empty()) return {};
  std::error_code error;
  fs::path whole = fs::weakly_canonical(direct::behindLinks(fs::absolute(path, error)), error);
  if (!whole.has_filename()) whole = whole.parent_path();  // A folder may end in a slash.
  return error ? fs::path() : whole;
}

void Grants::toRead(const Path& file) {
  if (const Path whole = resolved(file); !whole.empty()) read_.insert(whole);
}

void Grants::toReadBeside(const Path& model) {
  if (const Path whole = resolved(model); !whole.empty()) dataFolders_.insert(whole.parent_path());
}

void Grants::toWrite(const Path& file) {
  if (const Path whole = resolved(file); !whole.empty()) write_.insert(whole);
}

bool Grants::mayRead(const Path& file) const {
  const Path whole = resolved(file);
  return read_.contains(whole) || write_.contains(whole);
}

bool Grants::mayReadAsData(const Path& file) const {
  const Path whole = resolved(file);
  return std::ranges::any_of(dataFolders_, [&](const Path& folder) { return liesOpenlyIn(folder, whole); });
}

bool Grants::mayReadAsModel(const Path& file) const {
  const Path whole = resolved(file);
  return std::ranges::any_of(write_, [&](const Path& out) { return whole.parent_path() == out.parent_path(); });
}

bool Grants::mayList(const Path& folder) const {
  const Path whole = resolved(folder);
  return std::ranges::any_of(write_, [&](const Path& out) { return out.parent_path() == whole; });
}

bool Grants::mayReplace(const Path& file) const { return write_.contains(resolved(file)); }

bool Grants::mayMakeOrRemove(const Path& file) const {
  const Path whole = resolved(file);
  const std::string name = whole.filename().string();
  return std::ranges::any_of(write_, [&](const Path& out) {
    const std::string own = out.filename().string(), data = out.stem().string() + "_data";
    const bool after = name.starts_with(own + "_data") || (out.has_extension() && name.starts_with(own + "."));
    const bool numbered = name.starts_with(data) && name.find_first_not_of("_0123456789", data.size()) == name.npos;
    return whole.parent_path() == out.parent_path() && (after || numbered);
  });
}

bool HandedFile::isAsItWas() const {
  struct stat now {};
  return ::stat(path.c_str(), &now) == 0 && now.st_dev == device && now.st_ino == inode && now.st_size == size &&
         same(now.st_mtim, written) && same(now.st_ctim, changed);
}

Doorkeeper::~Doorkeeper() {
  for (auto& [ticket, file] : unnamed_) direct::discard(file);
  for (const auto& [data, file] : early_) {
    if (fileAt(data) == file) static_cast<void>(direct::remove(data));  // nobody has put another in its place
  }
}

bool Doorkeeper::serve(int socket) {
  const auto question = door::receiveQuestion(socket);
  return question && door::send(socket, answer(*question));
}

// Opens exactly what it compared, whatever other spellings of it mean.
Answer Doorkeeper::answer(const Question& question) {
  const auto tooLong = [](const fs::path& name) { return name.native().size() > NAME_MAX; };
  if (std::ranges::any_of(fs::path(question.path), tooLong)) return refused(ENAMETOOLONG);
  const fs::path path = Grants::resolved(question.path);
  switch (question.ask) {
    case Ask::Read:
      return read(path, question.path);
    case Ask::Folder: {
      if (!grants_.mayList(path)) return refused(EACCES);
      auto folder = direct::lockedFolder(path);
      return folder ? Answer{.error = 0, .ticket = 0, .handed = std::move(*folder)} : refused(folder.error());
    }
    case Ask::Create:
      return create(path);
    case Ask::NameOver:
      return refused(name(question.ticket, direct::Naming::Replace));
    case Ask::NameNew:
      return refused(name(question.ticket, direct::Naming::OnlyNew));
    case Ask::Drop:
      if (auto entry = unnamed_.extract(question.ticket)) direct::discard(entry.mapped());
      return refused(0);
    case Ask::Remove:
      return refused(remove(path));
  }
  return refused(EINVAL);
}

Answer Doorkeeper::read(const fs::path& path, const std::string& shown) {
  const bool named = grants_.mayRead(path), data = grants_.mayReadAsData(path), model = grants_.mayReadAsModel(path);
  if (!named && !data && !model) return refused(EACCES);
  auto file = direct::openToRead(path);
  if (!file) return refused(file.error());
  const bool allowed = named || (isRegular(*file) && (data || isOnnx(*file)));
  if (!allowed) return refused(EACCES);
  struct stat info {};
  if (::fstat(file->get(), &info) != 0) return refused(errno);
  if (named && isRegular(*file) && isOnnx(*file)) grants_.toReadBeside(path);
  const HandedFile handed{shown, info.st_dev, info.st_ino, info.st_size, info.st_mtim, info.st_ctim};
  handed_.try_emplace({info.st_dev, info.st_ino}, handed);
  if (handedNow_.size() < kMostHanded) handedNow_.push_back(handed);
  return {.error = 0, .ticket = 0, .handed = std::move(*file)};
}

Answer Doorkeeper::create(const fs::path& path) {
  if (!grants_.mayReplace(path) && !grants_.mayMakeOrRemove(path)) return refused(EACCES);
  if (unnamed_.size() >= kMostUnnamed) return refused(EMFILE);
  auto file = direct::createNew(path);
  if (!file) return refused(file.error());
  Answer answer{.error = 0, .ticket = ++lastTicket_, .handed = copyOf(file->file)};
  unnamed_.emplace(lastTicket_, std::move(*file));
  return answer;
}

int Doorkeeper::name(int64_t ticket, direct::Naming naming) {
  auto entry = unnamed_.extract(ticket);
  if (entry.empty()) return EINVAL;
  direct::NewFile& file = entry.mapped();
  const bool onlyNew = naming == direct::Naming::OnlyNew;
  const bool isExport = grants_.mayReplace(file.target);
  const bool may = isExport || (onlyNew && grants_.mayMakeOrRemove(file.target));
  auto older = may && !onlyNew ? direct::openToRead(file.target) : tl::unexpected(ENOENT);
  const int error = may ? direct::name(file, naming) : EACCES;
  if (error == 0 && onlyNew) made_.insert(file.target);
  if (error == 0 && older) replaced_ = std::move(*older);
  if (error == 0 && isExport) written_ = file.target;
  if (error == 0) isExport ? early_.clear() : static_cast<void>(early_.emplace(file.target, fileAt(file.target)));
  direct::discard(file);
  return error;
}

// Its own, and what the model that was replaced may have needed: it names its data files.
int Doorkeeper::remove(const fs::path& path) {
  if (!grants_.mayMakeOrRemove(path)) return EACCES;
  const bool may = made_.contains(path) || (replaced_ && mentions(replaced_, path.filename().string()));
  early_.erase(path);
  return may ? direct::remove(path) : EACCES;
}

std::string Doorkeeper::shortened() const {
  for (const auto& [inode, handed] : handed_) {
    struct stat info {};
    if (::stat(handed.path.c_str(), &info) == 0 && info.st_size < handed.size) return handed.path;
  }
  return {};
}

}  // namespace normlens::confine
