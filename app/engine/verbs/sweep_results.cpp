#include "app/engine/verbs/sweep_results.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <functional>

#include "core/protocol/json.h"

namespace normlens::engine {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

json stateOf(const std::string& path, off_t bytes, const timespec& written) {
  constexpr int64_t kSecond = 1'000'000'000;
  return {{"path", path}, {"bytes", bytes}, {"modified", written.tv_sec * kSecond + written.tv_nsec}};
}

size_t keyOf(const std::string& model, const json& options) {
  return std::hash<std::string>()(model + '\n' + protocol::dumpJson(options));
}

// A list of fileState() of files that are as they were.
bool allUnchanged(const json& files) {
  return files.is_array() && std::ranges::all_of(files, [](const json& file) {
           const auto path = file.is_object() ? file.find("path") : file.end();
           return path != file.end() && path->is_string() && fileState(path->get<std::string>()) == file;
         });
}

// A line of a model that is done; null: another one, or none of ours.
json doneLine(const std::string& text) {
  auto line = protocol::parseJson(text);
  if (!line || !line->is_object()) return nullptr;
  for (const char* key : {"model", "status", "options", "read", "wrote"}) {
    if (!line->contains(key)) return nullptr;
  }
  return (*line)["status"] == "done" && (*line)["model"].is_string() ? std::move(*line) : json(nullptr);
}

Status writeWhole(int file, const std::string& text, const std::string& path) {
  for (size_t written = 0; written < text.size();) {
    const ssize_t wrote = ::write(file, text.data() + written, text.size() - written);
    if (wrote < 0 && errno != EINTR) return fail(ErrorCode::WriteFailed, path + ": " + std::strerror(errno));
    if (wrote > 0) written += static_cast<size_t>(wrote);
  }
  return {};
}

bool endsWithin(int file, off_t size) {
  char last = '\n';
  return size > 0 && ::pread(file, &last, 1, size - 1) == 1 && last != '\n';
}

}  // namespace

json fileState(const fs::path& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) return nullptr;
  return stateOf(path.string(), info.st_size, info.st_mtim);
}

json fileState(const confine::HandedFile& file) { return stateOf(file.path, file.size, file.written); }

Result<SweepResults> SweepResults::open(const std::string& path) {
  SweepResults results;
  results.path_ = path;
  results.file_.reset(::open(path.c_str(), O_RDWR | O_APPEND | O_CREAT | O_NONBLOCK | O_CLOEXEC, 0666));
  if (!results.file_) return fail(ErrorCode::WriteFailed, path + ": " + std::strerror(errno));
  struct stat info {};
  char first = '{';
  const bool regular = ::fstat(results.file_.get(), &info) == 0 && S_ISREG(info.st_mode);
  if (!regular || ::pread(results.file_.get(), &first, 1, 0) < 0 || first != '{') {
    return fail(ErrorCode::Usage, path + " is no file of results of a sweep", "name another one, or a new one");
  }
  results.remember();
  return results;
}

void SweepResults::remember() {
  lines_.open(path_, std::ios::binary);
  std::streamoff begin = 0;
  for (std::string text; std::getline(lines_, text);) {
    if (const json line = doneLine(text); !line.is_null()) {
      done_[keyOf(line["model"].get<std::string>(), line["options"])] = begin;
    }
    begin += static_cast<std::streamoff>(text.size()) + 1;
  }
}

std::optional<json> SweepResults::done(const std::string& model, const json& options) {
  const auto found = done_.find(keyOf(model, options));
  if (found == done_.end()) return std::nullopt;
  lines_.clear();
  lines_.seekg(found->second);
  std::string text;
  std::getline(lines_, text);
  json line = doneLine(text);
  const bool same = !line.is_null() && line["model"] == model && line["options"] == options;
  if (!same || line["read"].empty() || !allUnchanged(line["read"]) || !allUnchanged(line["wrote"])) return std::nullopt;
  return line;
}

Status SweepResults::append(const json& line) {
  if (!file_) return {};
  std::string text = protocol::dumpJson(line) + "\n";
  ::flock(file_.get(), LOCK_EX);
  struct stat info {};
  if (::fstat(file_.get(), &info) == 0 && endsWithin(file_.get(), info.st_size)) text.insert(0, "\n");
  Status written = writeWhole(file_.get(), text, path_);
  ::flock(file_.get(), LOCK_UN);
  return written;
}

}  // namespace normlens::engine
