#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>

#include "app/engine/bindings.h"
#include "app/engine/verbs.h"

namespace normlens::engine {
namespace {

std::string readSome() {
  std::array<char, 1 << 16> buffer{};
  for (;;) {
    const ssize_t got = ::read(STDIN_FILENO, buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    return got <= 0 ? std::string() : std::string(buffer.data(), static_cast<size_t>(got));
  }
}

// A client that is gone is noticed by the reader: nothing is to be done about it here.
void writeAll(int descriptor, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(descriptor, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return;
    bytes.remove_prefix(static_cast<size_t>(written));
  }
}

// `stop`: on SIGTERM or Ctrl-C the process ends at once; an unfinished export is a temporary file only.
Exit run(Console& console, const std::stop_token& stop) {
  std::signal(SIGPIPE, SIG_IGN);
  const int frames = console.ownStdout();  // carries frames only
  if (frames < 0) return console.fail(Error{ErrorCode::Internal, "stdout cannot be used for frames", {}});
  const std::stop_callback leave(stop, [] { std::_Exit(static_cast<int>(Exit::NotDone)); });
  service::Service service;
  protocol::Dispatcher dispatcher({.read = readSome,
                                   .write = [frames](std::string_view bytes) { writeAll(frames, bytes); },
                                   .log =
                                       [](std::string_view line) {
                                         std::fprintf(stderr, "normlens-engine: %.*s\n", static_cast<int>(line.size()),
                                                      line.data());
                                       }});
  bindMethods(dispatcher, service);
  const protocol::ServeEnd end = dispatcher.serve();
  // A request that does not stop still uses the service: leave without destroying it under its feet.
  if (end == protocol::ServeEnd::Stuck) std::_Exit(static_cast<int>(Exit::Done));
  return Exit::Done;
}

}  // namespace

RunVerb declareServe(CLI::App&) {
  return [](Console& console, const std::stop_token& stop) { return run(console, stop); };
}

}  // namespace normlens::engine
