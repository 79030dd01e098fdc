#include "app/engine/supervise_verb.h"

#include <poll.h>

#include <array>
#include <optional>

#include "app/engine/stop_signals.h"
#include "app/engine/verbs/model_options.h"
#include "core/service/describe/engine_info.h"

namespace normlens::engine {
namespace {

using confine::Worker;
using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kPollTick{100};
constexpr std::chrono::milliseconds kStopPatience{850};  // within which the measurements so far are reported

Exit exitOf(const Result<Exit>& exit, Console& console) { return exit ? *exit : console.fail(exit.error()); }

class Supervisor {
 public:
  Supervisor(const Declared& verb, const confine::Limits& limits, Console& console)
      : verb_(verb), limits_(limits), console_(console), files_(verb.files()) {}

  Result<Exit> run() {
    auto end = attempt({});
    if (!end) return tl::unexpected(end.error());
    using Kind = RunWatch::Kind;
    const bool onlyLooking = !end->byItself && (end->during == Kind::Trial || end->during == Kind::Probe);
    if (onlyLooking && !stopAsked_) end = attempt(end->error);
    if (!end) return tl::unexpected(end.error());
    if (!end->byItself) return tl::unexpected(inFile(files_.model, end->error));
    return static_cast<Exit>(end->status);
  }

 private:
  Result<Worker::End> attempt(const Error& notRun) {
    Worker::Start start;
    start.walls.gpu = files_.gpu;
    service::loadRuntimes();
    start.limits = limits_;
    start.grants = files_.grants;
    start.keep = {console_.ownStdout(), console_.ownStderr()};
    start.printed = [&](std::string_view line) { console_.note("| " + std::string(line)); };
    const auto work = [&](confine::Confinement level) {
      try {  // want of memory shows as early as here
        Interrupt interrupt;
        if (const auto missing = confine::whatIsMissing(level, files_.gpu);
            !missing.empty() && notRun.message.empty()) {
          console_.note(missing);
        }
        const formats::OpenChoice opening{level == confine::Confinement::None, files_.ofModel, false};
        return static_cast<int>(exitOf(verb_.run({console_, interrupt, {notRun, opening}}), console_));
      } catch (const std::exception& error) {
        return static_cast<int>(console_.fail(defect(error)));
      }
    };
    ASSIGN_OR_RETURN(auto worker, Worker::start(std::move(start), work));
    return watch(*worker);
  }

  Worker::End watch(Worker& worker) {
    for (;;) {
      std::array<pollfd, 3> events{pollfd{signals_.descriptor(), POLLIN, 0}, pollfd{worker.door(), POLLIN, 0},
                                   pollfd{worker.noise(), POLLIN, 0}};
      ::poll(events.data(), events.size(), static_cast<int>(kPollTick.count()));
      if (events[1].revents != 0) worker.serveDoor();
      if (events[2].revents != 0) worker.readNoise();
      while (const auto signal = signals_.next()) stop(worker);
      if (stopAsked_ && Clock::now() > *stopAsked_ + kStopPatience) worker.kill(Worker::Reason::Stopped);
      if (worker.overdue()) worker.kill(Worker::Reason::Deadline);
      if (auto end = worker.ended()) return sayWhatIsWritten(std::move(*end), worker.keeper().written());
    }
  }

  // A file whose name was given before the end is whole: what is lost is what would have been reported.
  static Worker::End sayWhatIsWritten(Worker::End end, const std::filesystem::path& written) {
    if (end.byItself || written.empty()) return end;
    end.error.hint = {};
    end.error.message += "; " + written.filename().string() + " was written before that and is complete";
    return end;
  }

  void stop(Worker& worker) {
    if (stopAsked_) return worker.kill(Worker::Reason::Stopped);
    stopAsked_ = Clock::now();
    worker.askToStop();
  }

  const Declared& verb_;
  const confine::Limits& limits_;
  Console& console_;
  NamedFiles files_;
  StopSignals signals_;
  std::optional<Clock::time_point> stopAsked_;
};

}  // namespace

Exit superviseVerb(const Declared& verb, const confine::Limits& limits, Console& console) {
  return exitOf(Supervisor(verb, limits, console).run(), console);
}

}  // namespace normlens::engine
