#include "app/engine/supervise_serve.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdio>
#include <cstdlib>

#include "app/engine/client_state.h"
#include "app/engine/model_options.h"
#include "app/engine/request_files.h"
#include "app/engine/serve_side.h"
#include "app/engine/stop_signals.h"
#include "core/base/printable.h"
#include "core/protocol/framing.h"
#include "core/protocol/methods.h"

namespace normlens::engine {
namespace {

namespace methods = protocol::methods;
using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kTick{100};
constexpr std::chrono::milliseconds kCancelPatience{700};
constexpr std::chrono::milliseconds kEndPatience{2500};  // a little more than the worker's own
constexpr size_t kMostWaiting = size_t{1} << 20;         // bytes for a client that does not read

class Supervisor {
 public:
  Supervisor(int replies, const confine::Limits& limits) : client_(replies), usual_(limits), limits_(limits) {}

  Exit run() {
    if (!startWorker({}, {})) return Exit::Unreadable;
    while (!done()) {
      wait();
      if (signals_.next()) return Exit::NotDone;
      watchOver();
    }
    return Exit::Done;
  }

 private:
  using Side = std::unique_ptr<ServeSide>;

  bool startWorker(Journal journal, confine::Grants grants) {
    auto side = makeSide(std::move(journal), std::move(grants));
    if (side) current_ = std::move(*side);
    return side.has_value();
  }
  Result<Side> makeSide(Journal journal, confine::Grants grants) {
    auto side = ServeSide::start(std::move(journal), limits_, std::move(grants),
                                 [this](ServeSide& from, int64_t id, bool ok) { answered(from, id, ok); });
    if (!side) log(side.error().message);
    return side;
  }

  // ---- waiting

  void wait() {
    std::vector<pollfd> events{{signals_.descriptor(), POLLIN, 0}};
    const auto add = [&](int fd, short what) { events.push_back({fd, what, 0}); };
    add(clientGone_ ? -1 : STDIN_FILENO, POLLIN);
    add(outgoing_.empty() ? -1 : client_, POLLOUT);
    for (ServeSide* side : sides()) {
      add(side->worker().door(), POLLIN);
      add(side->worker().noise(), POLLIN);
      add(mayRelay(*side) ? side->replies() : -1, POLLIN);
      add(side->unsent() ? side->requests() : -1, POLLOUT);
    }
    ::poll(events.data(), events.size(), static_cast<int>(kTick.count()));
    if (events[2].revents != 0) tellClient();
    size_t at = 3;
    for (ServeSide* side : sides()) {
      if (events[at].revents != 0) side->worker().serveDoor();
      if (events[at + 1].revents != 0) side->worker().readNoise();
      if (events[at + 2].revents != 0 && mayRelay(*side)) side->relay(outgoing_);
      if (events[at + 3].revents != 0) side->push();
      at += 4;
    }
    if (events[1].revents != 0) hear();
    settle();
    tellOwn();
  }
  std::vector<ServeSide*> sides() {
    std::vector<ServeSide*> all{current_.get()};
    if (next_) all.push_back(next_.get());
    return all;
  }
  // One frame after the other, and no more than the client takes.
  bool mayRelay(ServeSide& side) { return outgoing_.size() < kMostWaiting && othersAreBetween(&side); }
  bool othersAreBetween(const ServeSide* side) {
    return std::ranges::all_of(sides(), [&](ServeSide* other) { return other == side || other->frames().between(); });
  }
  // What is said here goes between the frames of the workers.
  void say(std::string_view body) { own_ += protocol::encodeFrame(body); }
  void tellOwn() {
    if (othersAreBetween(nullptr)) outgoing_ += std::exchange(own_, {});
  }

  void tellClient() {
    // So few that a pipe that can be written to takes them all: a client that does not read stops nobody here.
    const ssize_t written = ::write(client_, outgoing_.data(), std::min<size_t>(outgoing_.size(), PIPE_BUF));
    if (written > 0) outgoing_.erase(0, static_cast<size_t>(written));
    if (written >= 0 || errno == EINTR || errno == EAGAIN) return;
    outgoing_.clear();  // nobody reads any more
    endClient();
  }
  void endClient() {
    clientGone_ = true;
    if (!ending_) ending_ = Clock::now();
    held_.clear();
    for (ServeSide* side : sides()) side->closeRequests();
  }
  bool done() {
    if (!ending_) return false;
    if (!ended_ && current_->worker().ended()) {
      ended_ = true;
      drain(*current_);
    }
    const bool told = outgoing_.empty() && own_.empty();
    return (ended_ && told) || Clock::now() > *ending_ + kEndPatience;
  }

  // ---- the client's requests

  void hear() {
    std::array<char, 1 << 16> bytes{};
    const ssize_t got = ::read(STDIN_FILENO, bytes.data(), bytes.size());
    if (got < 0 && errno == EINTR) return;
    if (got <= 0) return endClient();
    heard_.feed({bytes.data(), static_cast<size_t>(got)});
    while (auto frame = heard_.next()) {
      *frame ? receive(std::move(**frame)) : log(frame->error().message);
    }
  }

  void receive(std::string body) {
    auto message = protocol::parseMessage(body);
    if (message && message->method == methods::kCancel) return cancel(message->params);
    if (!message || !message->isRequest()) return current_->send(body);  // the worker says what is wrong with it
    Pending request{*message->id, std::move(message->method), std::move(body), std::move(message->params), {}};
    if (request.method == methods::kPing) {  // never behind others
      return current_->ready() ? hand(*current_, std::move(request)) : answerPing(request.id);
    }
    held_.push_back(std::move(request));
  }

  // Requests go on as they came, but for one that opens a model beside another: it waits until nothing else is asked.
  void settle() {
    while (!held_.empty() && !next_) {
      Pending& request = held_.front();
      const bool opens = request.method == methods::kOpen, beside = opens && current_->opened;
      if (opens) lostModel_.reset();
      if (beside && !current_->pending.empty()) return;
      if (beside) {
        openBeside();
      } else if (lostModel_ && request.method != methods::kShutdown) {
        answer(request.id, *lostModel_);
      } else {
        hand(*current_, std::move(request));
      }
      held_.pop_front();
    }
  }
  void hand(ServeSide& side, Pending request) {
    grantFilesOf(request.method, request.params, side.worker().grants());
    if (request.method == methods::kOpen && request.params.is_object()) {
      side.opened = true;
      const auto path = request.params.find("path");
      side.modelPath = path != request.params.end() && path->is_string() ? path->get<std::string>() : "the model";
      limits_ = limitsOf(request.params, usual_);
      side.worker().setLimits(limits_);
    }
    if (request.method == methods::kShutdown) ending_ = Clock::now();
    side.send(request.body);
    side.push();
    side.pending.push_back(std::move(request));
  }
  void openBeside() {
    ClientState plain = state_;
    plain.forgetModel();
    limits_ = limitsOf(held_.front().params, usual_);
    auto side = makeSide(plain.journal({}), {});
    if (!side) return answer(held_.front().id, {ErrorCode::Internal, side.error().message, {}});
    next_ = std::move(*side);
    hand(*next_, std::move(held_.front()));
  }

  void cancel(const nlohmann::json& params) {
    const auto id = params.is_object() ? params.find("id") : params.end();
    if (id == params.end() || !id->is_number_integer()) return;
    const auto wanted = id->get<int64_t>();
    const auto waiting = std::ranges::find(held_, wanted, &Pending::id);
    if (waiting != held_.end()) {
      held_.erase(waiting);
      return answer(wanted, {ErrorCode::Cancelled, "stopped on request", {}});
    }
    for (ServeSide* side : sides()) {
      for (Pending& request : side->pending) {
        if (request.id == wanted && !request.cancelled) request.cancelled = Clock::now();
      }
      side->send(protocol::notificationBody(methods::kCancel, params));
      side->push();
    }
  }

  // ---- answers

  void answered(ServeSide& from, int64_t id, bool withResult) {
    const auto request = std::ranges::find(from.pending, id, &Pending::id);
    if (request == from.pending.end()) return;
    const bool opens = request->method == methods::kOpen;
    std::vector<confine::HandedFile> files = from.worker().keeper().takeHanded();
    if (withResult) {
      if (opens) state_.forgetModel();
      state_.note(*request, std::move(files));
    }
    from.pending.erase(request);
    if (&from == next_.get() && opens) nextOpened_ = withResult;
  }
  void answer(int64_t id, const Error& error) { say(protocol::failureBody(id, protocol::rpcFailure(error))); }
  void answerPing(int64_t id) { say(protocol::resultBody(id, nullptr)); }

  // ---- the workers' lives

  void watchOver() {
    if (next_ && nextOpened_) replaceCurrent();
    for (ServeSide* side : sides()) {
      if (side->worker().overdue()) side->worker().kill(confine::Worker::Reason::Deadline);
      if (side->pending.empty()) continue;
      const Pending& running = side->pending.front();
      const bool tooLong = running.cancelled && Clock::now() > *running.cancelled + kCancelPatience;
      if (tooLong) side->worker().kill(confine::Worker::Reason::Stopped);
    }
    if (next_ && othersAreBetween(next_.get())) {
      if (auto end = next_->worker().ended()) loseNext(*end);
    }
    if (ending_ || !othersAreBetween(current_.get())) return;
    if (auto end = current_->worker().ended()) loseCurrent(*end);
  }

  // The new worker has answered its `open`, the older one everything: what is left of both lies in their pipes.
  void replaceCurrent() {
    const bool opened = *std::exchange(nextOpened_, std::nullopt);
    std::array inTurn{current_.get(), next_.get()};
    if (!next_->frames().between()) std::ranges::reverse(inTurn);
    for (ServeSide* side : inTurn) relayRest(*side);
    (opened ? current_ : next_)->frames().end(outgoing_);
    if (opened) current_ = std::move(next_);
    next_.reset();
  }

  // No more than a pipe holds: one that goes on writing is not waited for.
  void relayRest(ServeSide& side) {
    const size_t most = outgoing_.size() + 2 * kMostWaiting;
    while (outgoing_.size() < most && side.relay(outgoing_)) {
    }
  }

  void drain(ServeSide& side) {
    while (side.replies() >= 0 && side.relay(outgoing_)) {
    }
    side.frames().end(outgoing_);
  }
  [[nodiscard]] static Error sentence(const ServeSide& side, const confine::Worker::End& end) {
    if (!end.byItself) return inFile(side.modelPath, end.error);
    return {ErrorCode::Internal, "the process of " + side.modelPath + " ended by itself", "please report it"};
  }

  void loseNext(const confine::Worker::End& end) {
    drain(*next_);
    if (nextOpened_.value_or(false)) {
      replaceCurrent();
      return loseCurrent(end);
    }
    for (const Pending& request : next_->pending) answer(request.id, sentence(*next_, end));
    next_.reset();
    nextOpened_.reset();
  }

  void loseCurrent(const confine::Worker::End& end) {
    drain(*current_);
    const Side lost = std::move(current_);
    std::list<Pending> unanswered = std::move(lost->pending);
    using Kind = RunWatch::Kind;
    const bool looking = !end.byItself && (end.during == Kind::Trial || end.during == Kind::Probe);
    std::string notRun = lost->journal().notRun;
    if (!lost->ready()) {
      if (!state_.hasModel()) return giveUp();
      state_.dropLast();  // bringing it back ended the next one as well
    } else if (!unanswered.empty() && unanswered.front().cancelled) {
      answer(unanswered.front().id, {ErrorCode::Cancelled, "stopped on request", {}});
      unanswered.pop_front();
    } else if (!unanswered.empty() && unanswered.front().method == methods::kAnalyze && looking && notRun.empty()) {
      notRun = end.error.message;  // asked once more
    } else if (!unanswered.empty()) {
      answer(unanswered.front().id, sentence(*lost, end));
      unanswered.pop_front();
    }
    log(sentence(*lost, end).message);
    if (const std::string file = state_.changedFile(); !file.empty()) loseModel(file, unanswered);
    bringBack(std::move(notRun), *lost, std::move(unanswered));
  }

  // What it was at cannot be done again on other content: nothing is asked of it any more until a model is opened.
  void loseModel(const std::string& file, std::list<Pending>& unanswered) {
    state_.forgetModel();
    lostModel_ = Error{ErrorCode::Unreadable, file + " has changed on the disk since it was opened", "open it again"};
    for (const Pending& request : unanswered) {
      request.method == methods::kPing ? answerPing(request.id) : answer(request.id, *lostModel_);
    }
    unanswered.clear();
  }

  // Without a process for models there is nothing to serve.
  void giveUp() {
    log("no process for models can be started on this machine; the engine ends");
    std::_Exit(static_cast<int>(Exit::Unreadable));
  }

  void bringBack(std::string notRun, ServeSide& lost, std::list<Pending> unanswered) {
    if (!startWorker(state_.journal(std::move(notRun)), std::move(lost.worker().grants()))) {
      giveUp();
    }
    current_->opened = state_.hasModel();
    current_->modelPath = lost.modelPath;
    for (Pending& request : unanswered) {
      if (request.method == methods::kPing) {
        answerPing(request.id);
      } else {
        hand(*current_, std::move(request));
      }
    }
  }

  static void log(const std::string& line) { std::fprintf(stderr, "normlens-engine: %s\n", printable(line).c_str()); }

  int client_;
  const confine::Limits& usual_;
  confine::Limits limits_;  // as the last `open` asked for
  StopSignals signals_;
  protocol::FrameDecoder heard_;
  std::string outgoing_, own_;
  std::list<Pending> held_;  // not handed to a worker yet
  ClientState state_;
  Side current_;
  Side next_;                                // opens a model beside the current one's
  std::optional<bool> nextOpened_;           // it has answered
  std::optional<Error> lostModel_;           // why it was not opened again
  std::optional<Clock::time_point> ending_;  // the client is gone or has asked for the end
  bool clientGone_ = false, ended_ = false;
};

}  // namespace

Exit superviseServe(Console& console, const confine::Limits& limits) {
  std::signal(SIGPIPE, SIG_IGN);
  const int frames = console.ownStdout();  // carries frames only
  if (frames < 0) return console.fail(Error{ErrorCode::Internal, "stdout cannot be used for frames", {}});
  return Supervisor(frames, limits).run();
}

}  // namespace normlens::engine
