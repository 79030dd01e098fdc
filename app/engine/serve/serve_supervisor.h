// The half of `serve` that talks to the client and never loads a model: a confined process for each opened model, with
// what the requests name handed through its door.
//
//   client ── stdin ──▶ supervisor ── requests ──▶ worker (confined)
//          ◀─ stdout ──            ◀── replies ───
// Requests are answered in order by one worker. A worker that dies (a crash, a limit, a request that was cancelled and
// did not stop) costs the request that it was at: this is answered with one sentence, and the next worker opens the
// model again, sets the inputs, analyses and folds, as far as the client had come. If it died looking at the model
// (guessing inputs, the probe run), the next one analyses without running it. An `open` beside an open model gets a
// worker of its own; the older one goes when it has succeeded.
//
// Thread: one, the only one of its process; it waits in poll() alone.
#pragma once

#include <chrono>
#include <cstddef>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "app/engine/console.h"
#include "app/engine/serve/exchanged_files.h"
#include "app/engine/serve/serve_side.h"
#include "app/engine/stop_signals.h"
#include "core/confine/doorkeeper.h"
#include "core/protocol/framing.h"

namespace normlens::engine {

// The progress of a client of `serve` with its model: the next worker is brought to this state when one dies.

// Returns the limits that an `open` sets, or the usual ones.
[[nodiscard]] confine::Limits limitsOf(const nlohmann::json& params, confine::Limits usual);

// The last request of each kind that makes state (initialize, open, set_inputs, analyze, fold) and was answered with a
// result. One takes the place of an older one of its kind, and of all later kinds.
class ClientState {
 public:
  // files: what was handed over for it.
  void note(const Pending& request, std::vector<confine::HandedFile> files);
  void dropLast();  // never `initialize`
  void forgetModel();
  [[nodiscard]] bool hasModel() const { return steps_.size() > 1; }
  // Returns a file, of all that were handed over, that has changed; empty: none.
  [[nodiscard]] std::string changedFile() const;
  [[nodiscard]] Journal journal(Error notRun) const;

 private:
  struct Step {
    std::string body;
    std::vector<confine::HandedFile> files;
  };
  std::map<std::ptrdiff_t, Step> steps_;
};

class ServeSupervisor {
 public:
  // replies: what the client reads. usual: limits for an `open` that sets none.
  ServeSupervisor(int replies, const confine::Limits& usual) : client_(replies), usual_(usual), limits_(usual) {}
  // Runs until the client is gone or requests the end. torchFirst: see Journal, for the first worker.
  [[nodiscard]] Exit run(bool torchFirst);

 private:
  using Clock = std::chrono::steady_clock;
  using Side = std::unique_ptr<ServeSide>;
  static constexpr size_t kMostWaiting = size_t{1} << 20;  // bytes

  // ---- the client
  void wait();
  std::vector<ServeSide*> sides();
  // Replies are not relayed while the client does not read.
  [[nodiscard]] bool relays() const { return outgoing_.size() < kMostWaiting; }
  void relaySome(ServeSide& side);
  void say(std::string_view body);
  void tellClient();
  void endClient();
  [[nodiscard]] bool done();
  void hear();
  void receive(std::string body);
  void settle();
  void answerAboutFiles();
  void hand(ServeSide& side, Pending request);
  void openBeside();
  void cancel(const nlohmann::json& params);
  void answer(int64_t id, const Error& error);
  void answerPing(int64_t id);

  // ---- the workers: how they begin, take each other's place and are lost
  bool startWorker(Journal journal, confine::Grants grants);
  Result<Side> makeSide(Journal journal, confine::Grants grants);
  void answered(ServeSide& from, const protocol::Answered& answer);
  void watchOver();
  void replaceCurrent();
  void loseNext(const confine::Worker::End& end);
  void loseCurrent(const confine::Worker::End& end);
  void loseModel(const std::string& file, std::list<Pending>& unanswered);
  void bringBack(Error notRun, ServeSide& lost, std::list<Pending> unanswered);

  int client_;
  const confine::Limits& usual_;
  confine::Limits limits_;  // as the last `open` set them
  StopSignals signals_;
  protocol::FrameDecoder heard_;
  ExchangedFiles files_;
  std::string outgoing_;
  size_t told_ = 0;          // bytes of it
  std::list<Pending> held_;  // not handed to a worker yet
  std::list<Pending> filesAsked_;
  ClientState state_;
  Side current_;
  Side next_;                                // opens a model beside the current one's
  std::optional<bool> nextOpened_;           // it has answered
  std::optional<Error> lostModel_;           // why it was not opened again
  std::optional<Clock::time_point> ending_;  // the client is gone or has requested the end
  bool clientGone_ = false, ended_ = false;
};

// Grants the files that a client's request names: the process that answers it may be handed them.
void grantFilesOf(std::string_view method, const nlohmann::json& params, confine::Grants& grants);

void logServe(const std::string& line);  // on stderr

}  // namespace normlens::engine
