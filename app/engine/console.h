// Prints a verb's output: one JSON object or plain lines on stdout, notes and errors as single lines on stderr.
//
// With --json stdout holds exactly one object with "schema":1, whatever happens and whatever a model or a library
// prints; with --quiet only requested output appears. Thread: progress may be reported from any thread, the rest
// belongs to the main thread.
#pragma once

#include <cstdint>
#include <cstdio>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/base/task.h"

namespace normlens::engine {

inline constexpr int kSchema = 1;  // Marks every JSON object.

// The exit statuses are listed in docs/options.md, Exit codes.
enum class Exit : int { Done = 0, NotDone = 1, Usage = 2, Unreadable = 3 };
[[nodiscard]] Exit exitFor(ErrorCode code);

// Describes an exception that nobody has caught where it belongs.
[[nodiscard]] Error defect(const std::exception& error);

// Names the meaning of a part of a line, which a terminal shows in color.
enum class Tone : uint8_t { Plain, Good, Caution, Bad, Faint };
struct Piece {
  std::string text;
  Tone tone = Tone::Plain;
};

class Console {
 public:
  struct Options {
    bool json = false;
    bool quiet = false;
  };
  explicit Console(Options options);
  ~Console();
  Console(const Console&) = delete;
  Console& operator=(const Console&) = delete;

  // Takes stdout and stderr for itself, by descriptors of its own: what anybody else writes to stdout goes to stderr
  // from now on, or where a process for a model has its streams. Before any model is opened.
  void takeStreams();
  // Return their descriptors, which who closes all others keeps open; -1: they were not or could not be taken.
  [[nodiscard]] int ownStdout() const;
  [[nodiscard]] int ownStderr() const;

  // Makes a Task for a long call: shows progress where stderr is a terminal, stops when the user presses Ctrl-C.
  [[nodiscard]] Task task(std::stop_token stop);

  void print(std::string_view text);  // stdout; nothing with --json or --quiet
  // The same of one line; in color where stdout is a terminal and NO_COLOR is not set.
  void print(const std::vector<Piece>& line);
  Exit help(std::string_view text);  // stdout, whatever the options; see finish()
  // stderr; nothing with --quiet, unless the line is the reason for an exit other than Done
  void note(std::string_view line, Exit because = Exit::Done);
  // One object as a line of stdout, written whole, whatever the options. False: it could not be; see finish().
  bool line(nlohmann::json object);
  // With --json, which alone needs the object, prints it: that of a large model takes its time. Exit::Done only if all
  // that was printed could be written; else the cause is on stderr.
  Exit finish(const std::function<nlohmann::json()>& result, Exit exit);
  Exit fail(const Error& error);  // one line on stderr, the error object with --json

 private:
  class ProgressLine;

  void say(std::string_view text);  // on stdout, ended like a line
  Exit written(Exit exit);

  Options options_;
  bool colors_ = false;
  std::FILE* out_ = stdout;
  int unwritten_ = 0;  // errno of the first line that stdout did not take
  std::FILE* err_ = stderr;
  std::unique_ptr<ProgressLine> progress_;
};

}  // namespace normlens::engine
