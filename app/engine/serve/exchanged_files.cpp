#include "app/engine/serve/exchanged_files.h"

#include <fcntl.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <span>
#include <utility>
#include <vector>

#include "core/base/bytes/base64.h"
#include "core/base/printable.h"
#include "core/protocol/methods.h"

namespace normlens::engine {
namespace {

namespace fs = std::filesystem;
namespace methods = protocol::methods;

constexpr int64_t kBillion = 1'000'000'000;
constexpr int64_t kPartLookedThrough = int64_t{64} << 20;

std::string variable(const char* name) {
  const char* const value = std::getenv(name);
  return value != nullptr && *value == '/' ? value : std::string();
}

fs::path home() {
  if (const std::string named = variable("HOME"); !named.empty()) return named;
  const passwd* const user = ::getpwuid(::getuid());
  return user != nullptr && user->pw_dir != nullptr && *user->pw_dir == '/' ? user->pw_dir : "/";
}

bool isPlainName(const std::string& name) {
  return !name.empty() && name.size() <= NAME_MAX && !name.starts_with('.') && printable(name) == name &&
         name.find('/') == name.npos && name.find('\0') == name.npos;
}

bool isDigits(const std::string& text) {
  return text.size() == RunningHash::kDigits && text.find_first_not_of("0123456789abcdef") == text.npos;
}

tl::unexpected<Error> notWritten(const fs::path& path, int error) {
  return fail(ErrorCode::WriteFailed, path.string() + " could not be written: " + std::strerror(error),
              error == ENOSPC ? "make room there; what has come is kept" : "");
}

tl::unexpected<Error> notRead(const fs::path& path, int error) {
  return fail(ErrorCode::Unreadable, path.string() + " could not be read: " + std::strerror(error));
}

std::optional<protocol::FolderEntry> entryOf(const fs::path& path) {
  struct stat info {};
  const std::string name = path.filename().string();
  if (!isPlainName(name) || ::stat(path.c_str(), &info) != 0) return std::nullopt;
  if (S_ISDIR(info.st_mode)) return protocol::FolderEntry{name, true, 0, 0};
  if (!S_ISREG(info.st_mode)) return std::nullopt;
  return protocol::FolderEntry{name, false, info.st_size, info.st_mtim.tv_sec * kBillion + info.st_mtim.tv_nsec};
}

tl::unexpected<Error> noOwnFile(const fs::path& path) {
  return fail(ErrorCode::Refused, path.string() + " is not a file or folder that NormLens made");
}

// Opens the folder itself, never what a link in its place leads to.
Result<Descriptor> openFolder(const fs::path& path) {
  Descriptor folder(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!folder && errno == ENOENT) return notRead(path, errno);
  struct stat info {};
  if (!folder || ::fstat(folder.get(), &info) != 0 || info.st_uid != ::geteuid()) return noOwnFile(path);
  return folder;
}

// Nobody else may look into it: models may be secret.
Result<Descriptor> makeFolder(const fs::path& path) {
  std::error_code error;
  fs::create_directories(path, error);
  if (error) return notWritten(path, error.value());
  ASSIGN_OR_RETURN(Descriptor folder, openFolder(path));
  if (::fchmod(folder.get(), S_IRWXU) != 0) return notWritten(path, errno);
  return folder;
}

struct OpenFile {
  Descriptor file;
  int64_t bytes = 0;
};

// A regular file that has no other name: neither a link leads elsewhere nor is another's file changed by it.
Result<OpenFile> openFile(const Descriptor& folder, const fs::path& path, int flags) {
  OpenFile open{Descriptor(
      ::openat(folder.get(), path.filename().c_str(), flags | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, S_IRUSR | S_IWUSR))};
  if (!open.file && errno != ELOOP && errno != ENXIO)
    return (flags & O_CREAT) != 0 ? notWritten(path, errno) : notRead(path, errno);
  struct stat info {};
  if (!open.file || ::fstat(open.file.get(), &info) != 0 || !S_ISREG(info.st_mode) || info.st_nlink != 1)
    return noOwnFile(path);
  open.bytes = info.st_size;
  return open;
}

Status writeAt(const fs::path& path, const Descriptor& file, int64_t offset, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::pwrite(file.get(), bytes.data(), bytes.size(), offset);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return notWritten(path, written == 0 ? ENOSPC : errno);
    offset += written;
    bytes.remove_prefix(static_cast<size_t>(written));
  }
  return {};
}

// Returns fewer bytes where the file ends.
Result<std::string> readAt(const fs::path& path, const Descriptor& file, int64_t offset, int64_t most) {
  std::string bytes(static_cast<size_t>(most), '\0');
  size_t got = 0;
  while (got < bytes.size()) {
    const ssize_t some =
        ::pread(file.get(), bytes.data() + got, bytes.size() - got, offset + static_cast<int64_t>(got));
    if (some < 0 && errno == EINTR) continue;
    if (some < 0) return notRead(path, errno);
    if (some == 0) break;
    got += static_cast<size_t>(some);
  }
  bytes.resize(got);
  return bytes;
}

Status checkSent(const protocol::SendChunkParams& params) {
  if (!isDigits(params.folder)) return fail(ErrorCode::Usage, "the folder to send to is not 32 hex digits");
  if (!isPlainName(params.name)) return fail(ErrorCode::Usage, "the file that is sent has no plain name");
  if (params.bytes < 0) return fail(ErrorCode::Usage, params.name + " cannot have less than no bytes");
  if (params.bytes > 0 && !isDigits(params.hash)) return fail(ErrorCode::Usage, "a hash is 32 hex digits");
  return {};
}

Result<std::string> chunkOf(const protocol::SendChunkParams& params) {
  const auto bytes = bytesOfBase64(params.data);
  if (!bytes) return fail(ErrorCode::Usage, "a chunk of " + params.name + " is not base64");
  if (std::cmp_greater(bytes->size(), std::min(params.bytes - params.offset, protocol::kMostChunk)))
    return fail(ErrorCode::Usage, "more of " + params.name + " came than was announced");
  return *bytes;
}

Status checkRoom(const fs::path& path, int64_t bytes) {
  std::error_code error;
  const fs::space_info space = fs::space(path.parent_path(), error);
  if (!error && std::cmp_less(space.available, bytes)) return notWritten(path, ENOSPC);
  return {};
}

}  // namespace

fs::path ExchangedFiles::usualCache() {
  const fs::path caches = variable("XDG_CACHE_HOME").empty() ? home() / ".cache" : fs::path(variable("XDG_CACHE_HOME"));
  return caches / "normlens" / "exchanged";
}

Result<protocol::FolderList> ExchangedFiles::list(const protocol::ListFolderParams& params) {
  constexpr size_t kMost = 10'000;
  fs::path path = params.path.empty() ? home() : fs::path(params.path).lexically_normal();
  if (!path.is_absolute()) return fail(ErrorCode::Usage, params.path + " is no whole path");
  if (!path.has_filename() && path.has_relative_path()) path = path.parent_path();  // it ended in a slash
  if (const auto own = entryOf(path); own && !own->folder)
    return protocol::FolderList{path.parent_path().string(), {*own}, false};
  protocol::FolderList list{path.string(), {}, false};
  std::error_code error;
  for (fs::directory_iterator at(path, error), end; !error && at != end; at.increment(error)) {
    list.more = list.entries.size() == kMost;
    if (list.more) break;
    if (auto entry = entryOf(at->path())) list.entries.push_back(std::move(*entry));
  }
  if (error) return notRead(path, error.value());
  return list;
}

Result<protocol::SentSoFar> ExchangedFiles::send(const protocol::SendChunkParams& params) {
  RETURN_IF_ERROR(checkSent(params));
  const fs::path folder = cache_ / params.folder, whole = folder / params.name;
  const fs::path part = folder / ("." + params.hash + ".part");
  ASSIGN_OR_RETURN(const Descriptor opened, makeFolder(folder));
  if (params.bytes == 0) return protocol::SentSoFar{whole.string(), 0, false};
  // One that was sent before may have been changed since.
  if (const auto there = openFile(opened, whole, O_RDONLY); there && there->bytes == params.bytes) {
    ASSIGN_OR_RETURN(const std::string hash, hashOf(whole, there->file, there->bytes));
    if (hash.empty() || hash == params.hash) return protocol::SentSoFar{whole.string(), params.bytes, !hash.empty()};
  }
  ASSIGN_OR_RETURN(const OpenFile begun, openFile(opened, part, O_RDWR | O_CREAT));
  const Descriptor& file = begun.file;
  int64_t have = begun.bytes;
  if (have == params.offset && !params.data.empty()) {
    ASSIGN_OR_RETURN(const std::string bytes, chunkOf(params));
    RETURN_IF_ERROR(checkRoom(part, params.bytes - have));
    RETURN_IF_ERROR(writeAt(part, file, have, bytes));
    have += static_cast<int64_t>(bytes.size());
  }
  if (have < params.bytes) return protocol::SentSoFar{whole.string(), have, false};
  ASSIGN_OR_RETURN(const std::string hash, hashOf(part, file, have));
  if (hash.empty()) return protocol::SentSoFar{whole.string(), have, false};
  const std::string partName = part.filename().string();
  if (hash != params.hash) {
    ::unlinkat(opened.get(), partName.c_str(), 0);
    return fail(ErrorCode::Refused, "what came of " + params.name + " is not what was sent: its hash is another",
                "send it again");
  }
  if (::renameat(opened.get(), partName.c_str(), opened.get(), params.name.c_str()) != 0)
    return notWritten(whole, errno);
  return protocol::SentSoFar{whole.string(), have, true};
}

Result<protocol::FetchedChunk> ExchangedFiles::fetch(const protocol::FetchChunkParams& params) {
  const fs::path path = params.path, folder = path.parent_path();
  const bool ours = folder.parent_path() == cache_ && isDigits(folder.filename().string());
  if (!ours || !isPlainName(path.filename().string()))
    return fail(ErrorCode::Usage, params.path + " is not a file that was written to be fetched");
  ASSIGN_OR_RETURN(const Descriptor opened, openFolder(folder));
  if (params.remove) {
    ::unlinkat(opened.get(), path.filename().c_str(), 0);
    ::rmdir(folder.c_str());  // Only an empty one is.
    return protocol::FetchedChunk{};
  }
  ASSIGN_OR_RETURN(const OpenFile file, openFile(opened, path, O_RDONLY));
  if (params.offset < 0 || params.offset > file.bytes)
    return fail(ErrorCode::Usage, params.path + " has no byte " + std::to_string(params.offset));
  protocol::FetchedChunk chunk{file.bytes, {}, {}};
  if (params.offset < file.bytes) {
    const int64_t most = std::clamp<int64_t>(params.most, 1, protocol::kMostChunk);
    ASSIGN_OR_RETURN(const std::string bytes, readAt(path, file.file, params.offset, most));
    chunk.data = base64(bytes);
  } else {
    ASSIGN_OR_RETURN(chunk.hash, hashOf(path, file.file, file.bytes));
  }
  return chunk;
}

// Empty: only a part was looked through.
Result<std::string> ExchangedFiles::hashOf(const Path& path, const Descriptor& file, int64_t bytes) {
  constexpr int64_t kStep = int64_t{1} << 20;
  if (!looked_ || looked_->path != path || looked_->bytes > bytes) looked_ = LookedThrough{path, 0, {}};
  for (const int64_t end = std::min(bytes, looked_->bytes + kPartLookedThrough); looked_->bytes < end;) {
    ASSIGN_OR_RETURN(const std::string step, readAt(path, file, looked_->bytes, std::min(kStep, end - looked_->bytes)));
    if (step.empty()) return notRead(path, EIO);
    looked_->hash.add(std::as_bytes(std::span(step)));
    looked_->bytes += static_cast<int64_t>(step.size());
  }
  if (looked_->bytes < bytes) return std::string();
  return std::exchange(looked_, std::nullopt)->hash.hex();
}

bool ExchangedFiles::isAbout(std::string_view method) {
  return method == methods::kListFolder || method == methods::kSendChunk || method == methods::kFetchChunk;
}

std::string ExchangedFiles::answer(int64_t id, std::string_view method, const nlohmann::json& params) {
  const auto reply = [&]<class Params, class Reply>(const protocol::Method<Params, Reply>&,
                                                    const auto& make) -> std::string {
    const Result<Params> decoded = protocol::decode<Params>(params);
    Result<Reply> made =
        decoded ? make(*decoded) : tl::unexpected(Error{ErrorCode::Usage, decoded.error().message, {}});
    return made ? protocol::resultBody(id, protocol::toJson(*made))
                : protocol::failureBody(id, protocol::rpcFailure(made.error()));
  };
  if (method == methods::kListFolder) return reply(methods::kListFolder, [](const auto& p) { return list(p); });
  if (method == methods::kSendChunk) return reply(methods::kSendChunk, [this](const auto& p) { return send(p); });
  return reply(methods::kFetchChunk, [this](const auto& p) { return fetch(p); });
}

}  // namespace normlens::engine
