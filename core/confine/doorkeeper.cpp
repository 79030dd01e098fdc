#include "core/confine/doorkeeper.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <array>
#include <cerrno>

#include "core/formats/file/file_kind.h"

namespace normlens::confine {
namespace {

using door::Answer;
using door::Ask;
using door::Question;

constexpr size_t kMostUnnamed = 4096;  // data files of one export

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

}  // namespace

Doorkeeper::~Doorkeeper() {
  for (auto& [ticket, file] : unnamed_) direct::discard(file);
}

bool Doorkeeper::serve(int socket) {
  const auto question = door::receiveQuestion(socket);
  if (!question) return false;
  if (question->ask == Ask::Answered) {
    if (answered_) answered_(question->ticket, question->flag);
    return true;
  }
  return door::send(socket, answer(*question));
}

Answer Doorkeeper::answer(const Question& question) {
  switch (question.ask) {
    case Ask::Read:
      return read(question.path);
    case Ask::Folder: {
      if (!grants_.mayList(question.path)) return refused(EACCES);
      auto folder = direct::openFolder(question.path);
      return folder ? Answer{.error = 0, .ticket = 0, .handed = std::move(*folder)} : refused(folder.error());
    }
    case Ask::Create:
      return create(question.path);
    case Ask::NameOver:
      return refused(name(question.ticket, direct::Naming::Replace));
    case Ask::NameNew:
      return refused(name(question.ticket, direct::Naming::OnlyNew));
    case Ask::Drop:
      if (auto entry = unnamed_.extract(question.ticket)) direct::discard(entry.mapped());
      return refused(0);
    case Ask::Remove:
      return refused(grants_.mayMakeOrRemove(question.path) ? direct::remove(question.path) : EACCES);
    case Ask::Answered:
      break;
  }
  return refused(EINVAL);
}

Answer Doorkeeper::read(const std::filesystem::path& path) {
  const bool named = grants_.mayRead(path), data = grants_.mayReadAsData(path), model = grants_.mayReadAsModel(path);
  if (!named && !data && !model) return refused(EACCES);
  auto file = direct::openToRead(path);
  if (!file) return refused(file.error());
  const bool allowed = named || (isRegular(*file) && (data || isOnnx(*file)));
  if (!allowed) return refused(EACCES);
  struct stat info {};
  if (::fstat(file->get(), &info) != 0) return refused(errno);
  if (named && isRegular(*file) && isOnnx(*file)) grants_.toReadBeside(path);
  handed_.push_back({path, copyOf(*file), info.st_size});
  return {.error = 0, .ticket = 0, .handed = std::move(*file)};
}

Answer Doorkeeper::create(const std::filesystem::path& path) {
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
  const bool may = naming == direct::Naming::OnlyNew || grants_.mayReplace(file.target);
  const int error = may ? direct::name(file, naming) : EACCES;
  direct::discard(file);
  return error;
}

std::string Doorkeeper::shortened() const {
  for (const Handed& handed : handed_) {
    struct stat info {};
    if (::fstat(handed.file.get(), &info) == 0 && info.st_size < handed.size) return handed.path.string();
  }
  return {};
}

}  // namespace normlens::confine
