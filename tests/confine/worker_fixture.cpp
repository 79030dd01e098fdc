#include "tests/confine/worker_fixture.h"

#include <poll.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <utility>

namespace normlens::confine {

namespace fs = std::filesystem;

Outcome WorkerTest::run(const Worker::Body& body, Worker::Start start,
                        std::optional<std::chrono::milliseconds> stopAfter,
                        const std::function<void(std::string_view)>& onPrint) {
  using Clock = std::chrono::steady_clock;
  Outcome outcome;
  start.printed = [&](std::string_view line) {
    outcome.printed.emplace_back(line);
    if (onPrint) onPrint(line);
  };
  const auto begin = Clock::now();
  auto worker = Worker::start(std::move(start), body);
  if (!worker) throw std::runtime_error(worker.error().message);
  for (bool asked = false;;) {
    std::array<pollfd, 2> events{pollfd{(*worker)->door(), POLLIN, 0}, pollfd{(*worker)->noise(), POLLIN, 0}};
    ::poll(events.data(), events.size(), 20);
    if (events[0].revents != 0) (*worker)->serveDoor();
    if (events[1].revents != 0) (*worker)->readNoise();
    outcome.took = std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - begin);
    if (stopAfter && outcome.took > *stopAfter && !std::exchange(asked, true)) (*worker)->askToStop();
    if (stopAfter && outcome.took > *stopAfter + std::chrono::milliseconds(500)) {
      (*worker)->kill(Worker::Reason::Stopped);
    }
    if ((*worker)->overdue()) (*worker)->kill(Worker::Reason::Deadline);
    if (auto end = (*worker)->ended()) {
      outcome.end = std::move(*end);
      return outcome;
    }
  }
}

fs::path WorkerTest::write(const std::string& name, const std::string& text) const {
  std::ofstream(path(name), std::ios::binary) << text;
  return path(name);
}

std::string WorkerTest::read(const std::string& name) const {
  std::ifstream file(path(name), std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

std::vector<std::string> WorkerTest::names() const {
  std::vector<std::string> all;
  for (const auto& entry : fs::directory_iterator(folder_.path())) all.push_back(entry.path().filename().string());
  std::ranges::sort(all);
  return all;
}

}  // namespace normlens::confine
