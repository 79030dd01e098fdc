#include "app/engine/console.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>

#include "core/base/descriptor.h"
#include "core/base/plain_error.h"
#include "core/base/printable.h"
#include "core/base/run_watch.h"
#include "core/protocol/json.h"

namespace normlens::engine {
namespace {

// Returns whether the text arrived; errno has the cause if not.
bool writeLine(std::FILE* stream, std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), stream);
  std::fputc('\n', stream);
  return std::fflush(stream) == 0;
}

// A copy for this process alone. A terminal comes open to read as well: what has only this copy is not to read what is
// typed.
Descriptor ownCopy(int descriptor) {
  Descriptor writable;
  if (isatty(descriptor) != 0) {
    const std::string self = "/proc/self/fd/" + std::to_string(descriptor);
    writable.reset(open(self.c_str(), O_WRONLY | O_NOCTTY | O_CLOEXEC));
  }
  return Descriptor(fcntl(writable ? writable.get() : descriptor, F_DUPFD_CLOEXEC, STDERR_FILENO + 1));
}

// A standard stream that is closed would be the next file that is opened: results would go into that. Its substitute is
// a pipe without a reader, which cannot be written, or without a writer.
void holdClosedStreams() {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    std::array<int, 2> ends{};  // the first free ones: its place, and one that goes
    if (fcntl(stream, F_GETFD) >= 0 || pipe(ends.data()) != 0) continue;
    if (stream != STDIN_FILENO) dup2(ends[1], stream);
    close(ends[1]);
  }
}

// An error is one line, whatever a library has put into its message, and whatever names a model has.
std::string oneLine(std::string text) {
  std::ranges::replace_if(
      text, [](char c) { return c == '\n' || c == '\r' || c == '\t'; }, ' ');
  return printable(std::move(text));
}

// Bounds a message that a file's texts or an argument have made long. Its end stays, since that holds the reason.
std::string shortened(std::string text) {
  constexpr size_t kMost = 500, kEnd = 200;
  if (text.size() <= kMost) return text;
  return text.substr(0, characterStart(text, kMost - kEnd)) + " ... " +
         text.substr(characterStart(text, text.size() - kEnd));
}

std::string_view variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// Returns the sequence that a terminal needs before text of this tone (ECMA-48, SGR).
std::string_view colorOf(Tone tone) {
  switch (tone) {
    case Tone::Plain:
      return "";
    case Tone::Good:
      return "\033[32m";
    case Tone::Caution:
      return "\033[33m";
    case Tone::Bad:
      return "\033[31m";
    case Tone::Faint:
      return "\033[2m";
  }
  return "";
}

}  // namespace

Exit exitFor(ErrorCode code) {
  if (code == ErrorCode::Usage) return Exit::Usage;
  return code == ErrorCode::Refused || code == ErrorCode::Cancelled ? Exit::NotDone : Exit::Unreadable;
}

Error defect(const std::exception& error) {
  if (isWantOfMemory(error)) return {ErrorCode::RunFailed, plainError(error), {}};
  return {ErrorCode::Internal, std::string("a defect of NormLens: ") + error.what(),
          "please report it with the command that led to it"};
}

// Writes over one line on a terminal; ten times a second at most.
class Console::ProgressLine {
 public:
  void writeTo(std::FILE* stream) { stream_ = stream; }
  void show(std::string_view stage, double fraction) {
    const std::lock_guard lock(mutex_);
    const auto now = std::chrono::steady_clock::now();
    if (shown_ && now - last_ < std::chrono::milliseconds(100)) return;
    last_ = now;
    shown_ = true;
    const std::string percent = fraction < 0 ? "" : " " + std::to_string(static_cast<int>(fraction * 100)) + "%";
    std::fprintf(stream_, "\r\033[2K%.*s%s", static_cast<int>(stage.size()), stage.data(), percent.c_str());
    std::fflush(stream_);
  }
  void clear() {
    const std::lock_guard lock(mutex_);
    if (shown_) std::fputs("\r\033[2K", stream_);
    shown_ = false;
  }

 private:
  std::mutex mutex_;
  std::FILE* stream_ = stderr;
  std::chrono::steady_clock::time_point last_;
  bool shown_ = false;
};

Console::Console(Options options) : options_(options) {
  holdClosedStreams();
  std::signal(SIGPIPE, SIG_IGN);  // for a pipe that nobody reads any more the write reports it
  colors_ = isatty(STDOUT_FILENO) && variable("NO_COLOR").empty() && variable("TERM") != "dumb";
  if (!options_.quiet && isatty(STDERR_FILENO)) progress_ = std::make_unique<ProgressLine>();
}

Console::~Console() {
  if (progress_) progress_->clear();
  if (out_ != stdout) std::fclose(out_);
  if (err_ != stderr) std::fclose(err_);
}

void Console::takeStreams() {
  std::fflush(stdout);
  const auto copyOf = [](int descriptor) -> std::FILE* {
    Descriptor copy = ownCopy(descriptor);
    return copy ? fdopen(copy.release(), "w") : nullptr;
  };
  std::FILE *const out = copyOf(STDOUT_FILENO), *const err = copyOf(STDERR_FILENO);
  if (out == nullptr || err == nullptr) return;
  out_ = out;
  err_ = err;
  dup2(STDERR_FILENO, STDOUT_FILENO);
  if (progress_) progress_->writeTo(err_);
}

int Console::ownStdout() const { return out_ == stdout ? -1 : fileno(out_); }
int Console::ownStderr() const { return err_ == stderr ? -1 : fileno(err_); }

Task Console::task(std::stop_token stop) {
  Task task{.onProgress = nullptr, .stop = std::move(stop)};
  if (progress_) {
    task.onProgress = [this](std::string_view stage, double fraction) { progress_->show(stage, fraction); };
  }
  return task;
}

void Console::print(std::string_view text) {
  if (options_.json || options_.quiet) return;
  if (progress_) progress_->clear();
  say(printable(std::string(text), "\n"));
}

void Console::print(const std::vector<Piece>& line) {
  if (options_.json || options_.quiet) return;
  if (progress_) progress_->clear();
  std::string text;
  for (const Piece& piece : line) {
    const std::string_view color = colors_ ? colorOf(piece.tone) : "";
    text += std::string(color) + printable(piece.text) + (color.empty() ? "" : "\033[0m");
  }
  say(text);
}

void Console::say(std::string_view text) {
  if (!writeLine(out_, text) && unwritten_ == 0) unwritten_ = errno;
}

Exit Console::help(std::string_view text) {
  say(text.substr(0, text.find_last_not_of('\n') + 1));
  return written(Exit::Done);
}

Exit Console::written(Exit exit) {
  if (unwritten_ == 0) return exit;
  writeLine(err_, "normlens: stdout cannot be written: " + std::string(std::strerror(unwritten_)));
  return exit == Exit::Done ? Exit::NotDone : exit;
}

void Console::note(std::string_view line, Exit because) {
  if (options_.quiet && because == Exit::Done) return;
  if (progress_) progress_->clear();
  writeLine(err_, oneLine(std::string(line)));
}

Exit Console::finish(const std::function<nlohmann::json()>& result, Exit exit) {
  if (progress_) progress_->clear();
  if (options_.json) {
    nlohmann::json object = result();
    object["schema"] = kSchema;
    say(protocol::dumpJson(object));
  }
  return written(exit);
}

bool Console::line(nlohmann::json object) {
  object["schema"] = kSchema;
  const std::string text = protocol::dumpJson(object) + "\n";
  std::fflush(out_);
  for (size_t written = 0; written < text.size() && unwritten_ == 0;) {
    const ssize_t wrote = ::write(fileno(out_), text.data() + written, text.size() - written);
    if (wrote < 0 && errno != EINTR) unwritten_ = errno;
    if (wrote > 0) written += static_cast<size_t>(wrote);
  }
  return unwritten_ == 0;
}

Exit Console::fail(const Error& error) {
  Error reported = withMemoryLimit(error);
  reported.message = shortened(std::move(reported.message));
  watchPage().status = static_cast<int32_t>(exitFor(reported.code));
  if (progress_) progress_->clear();
  writeLine(err_, oneLine("normlens: " + withHint(reported)));
  if (options_.json) {
    const nlohmann::json object = {
        {"code", errorCodeName(reported.code)}, {"message", reported.message}, {"hint", reported.hint.text()}};
    say(protocol::dumpJson({{"schema", kSchema}, {"error", object}}));
  }
  return exitFor(reported.code);
}

}  // namespace normlens::engine
