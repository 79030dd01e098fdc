#include "app/engine/serve/serve_supervisor.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <memory>
#include <string_view>

#include "app/engine/verbs.h"
#include "app/engine/verbs/model_options.h"
#include "core/base/printable.h"
#include "core/lab/train.h"
#include "core/protocol/methods.h"

namespace normlens::engine {
namespace {

namespace methods = protocol::methods;

constexpr std::array<std::string_view, 5> kStateMakers = {methods::kInitialize, methods::kOpen, methods::kSetInputs,
                                                          methods::kAnalyze, methods::kFold};

// A client's number may be of any type: the worker refuses it in words.
double numberIn(const nlohmann::json& params, const char* name) {
  const auto found = params.is_object() ? params.find(name) : params.end();
  return found != params.end() && found->is_number() ? found->get<double>() : 0;
}

constexpr std::chrono::milliseconds kCancelPatience{700};

Error sentence(const ServeSide& side, const confine::Worker::End& end) {
  if (!end.byItself) return inFile(side.modelPath, end.error);
  return {ErrorCode::Internal, "the process of " + side.modelPath + " exited", "please report it"};
}

// The client sees the stream end, as it would if this process had died.
[[noreturn]] void giveUp() {
  logServe("no process for models can be started on this machine; the engine ends");
  std::_Exit(static_cast<int>(Exit::Unreadable));
}

constexpr std::chrono::milliseconds kTick{100};
constexpr std::chrono::milliseconds kEndPatience{2500};  // a little more than the worker's own

// A parameter that is a path. Where it may be something else ("folded", or nothing), a file of that name is granted
// too.
struct PathParameter {
  std::string_view method, name;
  bool written = false;
};
constexpr std::array kPaths = {
    PathParameter{methods::kOpen, "path"},
    PathParameter{methods::kOpen, "inputs"},
    PathParameter{methods::kReadGraph, "path"},
    PathParameter{methods::kWeightDigests, "path"},
    PathParameter{methods::kWeightChanges, "path"},
    PathParameter{methods::kSetInputs, "npz"},
    PathParameter{methods::kBench, "a"},
    PathParameter{methods::kBench, "b"},
    PathParameter{methods::kDiff, "against"},
    PathParameter{methods::kTensorPair, "against"},
    PathParameter{methods::kExport, "path", true},
    PathParameter{methods::kSaveTensor, "path", true},
    PathParameter{methods::kNarrow, "path", true},
};

// The settings of a run name its data, and with its folder what it keeps. What is no run is refused in words by the
// process that answers.
void grantFilesOfRun(const nlohmann::json& params, confine::Grants& grants) {
  const auto run = protocol::decode<protocol::LabParams>(params);
  if (!run || !lab::checkRunSettings(run->settings)) return;
  grants.toRead(run->settings.data.path);
  if (run->folder.empty()) return;
  for (const auto& file : lab::filesOfRun(run->settings, run->folder)) grants.toWrite(file);
}

}  // namespace

confine::Limits limitsOf(const nlohmann::json& params, confine::Limits usual) {
  constexpr double kMostSeconds = 1e7, kMostBytes = 1e18, kMsInSecond = 1000;
  const double seconds = std::min(numberIn(params, "time_limit"), kMostSeconds);
  const double bytes = std::min(numberIn(params, "memory_limit"), kMostBytes);
  if (seconds > 0) usual.setTime(std::chrono::milliseconds(static_cast<int64_t>(kMsInSecond * seconds)));
  if (bytes > 0) usual.memoryBytes = static_cast<int64_t>(bytes);
  return usual;
}

void ClientState::note(const Pending& request, std::vector<confine::HandedFile> files) {
  const auto* const step = std::ranges::find(kStateMakers, std::string_view(request.method));
  if (step == kStateMakers.end()) return;
  const auto at = step - kStateMakers.begin();
  std::erase_if(steps_, [&](const auto& entry) { return entry.first >= at; });
  steps_[at] = {request.body, std::move(files)};
}

void ClientState::dropLast() {
  if (hasModel()) steps_.erase(std::prev(steps_.end()));
}

void ClientState::forgetModel() {
  while (hasModel()) dropLast();
}

std::string ClientState::changedFile() const {
  for (const auto& [at, step] : steps_) {
    const auto changed = std::ranges::find_if(step.files, [](const auto& file) { return !file.isAsItWas(); });
    if (changed != step.files.end()) return changed->path;
  }
  return {};
}

Journal ClientState::journal(Error notRun) const {
  Journal journal;
  journal.notRun = std::move(notRun);
  for (const auto& [at, step] : steps_) journal.requests.push_back(step.body);
  return journal;
}

bool ServeSupervisor::startWorker(Journal journal, confine::Grants grants) {
  auto side = makeSide(std::move(journal), std::move(grants));
  if (side) current_ = std::move(*side);
  return side.has_value();
}

Result<ServeSupervisor::Side> ServeSupervisor::makeSide(Journal journal, confine::Grants grants) {
  auto side = ServeSide::start(std::move(journal), limits_, std::move(grants),
                               [this](ServeSide& from, const protocol::Answered& answer) { answered(from, answer); });
  if (!side) logServe(side.error().message);
  return side;
}

void ServeSupervisor::answered(ServeSide& from, const protocol::Answered& answer) {
  const auto request = std::ranges::find(from.pending, answer.id, &Pending::id);
  if (request == from.pending.end()) return;
  const bool opens = request->method == methods::kOpen;
  std::vector<confine::HandedFile> files = from.worker().keeper().takeHanded();
  if (answer.withResult) {
    if (opens) state_.forgetModel();
    state_.note(*request, std::move(files));
  }
  from.pending.erase(request);
  confine::Grants& grants = from.worker().grants();
  grants.endWriting();
  for (const Pending& next : from.pending) grantFilesOf(next.method, next.params, grants);
  if (&from == next_.get() && opens) nextOpened_ = answer.withResult;
}

void ServeSupervisor::watchOver() {
  if (next_ && nextOpened_) replaceCurrent();
  for (ServeSide* side : sides()) {
    if (side->worker().overdue()) side->worker().kill(confine::Worker::Reason::Deadline);
    if (side->brokeOff(relays())) side->worker().kill(confine::Worker::Reason::BrokeOff);
    if (side->pending.empty()) continue;
    Pending& running = side->pending.front();
    // One that brings the model back has not read it yet.
    if (running.cancelled && !side->ready()) running.cancelled = Clock::now();
    const bool tooLong = running.cancelled && Clock::now() > *running.cancelled + kCancelPatience;
    if (tooLong) side->worker().kill(confine::Worker::Reason::Stopped);
  }
  if (next_) {
    if (auto end = next_->worker().ended()) loseNext(*end);
  }
  if (ending_) return;
  if (auto end = current_->worker().ended()) loseCurrent(*end);
}

// The new worker has answered its `open`, the older one everything: what is left of the one that goes lies in its pipe.
void ServeSupervisor::replaceCurrent() {
  const bool opened = *std::exchange(nextOpened_, std::nullopt);
  relaySome(opened ? *current_ : *next_);
  if (opened) current_ = std::move(next_);
  next_.reset();
}

void ServeSupervisor::loseNext(const confine::Worker::End& end) {
  relaySome(*next_);
  if (nextOpened_.value_or(false)) {
    replaceCurrent();
    return loseCurrent(end);
  }
  for (const Pending& request : next_->pending) answer(request.id, sentence(*next_, end));
  next_.reset();
  nextOpened_.reset();
}

void ServeSupervisor::loseCurrent(const confine::Worker::End& end) {
  relaySome(*current_);
  const Side lost = std::move(current_);
  std::list<Pending> unanswered = std::move(lost->pending);
  using Kind = RunWatch::Kind;
  const bool looking = !end.byItself && (end.during == Kind::Trial || end.during == Kind::Probe);
  Error notRun = lost->journal().notRun;
  if (!lost->ready()) {
    if (!state_.hasModel()) giveUp();
    state_.dropLast();  // bringing it back ended the next one as well
  } else if (!unanswered.empty() && unanswered.front().cancelled) {
    answer(unanswered.front().id, {ErrorCode::Cancelled, "stopped on request", {}});
    unanswered.pop_front();
  } else if (!unanswered.empty() && !lost->took(unanswered.front()) && !unanswered.front().askedAgain) {
    unanswered.front().askedAgain = true;  // it came when that worker was dead already
  } else if (!unanswered.empty() && unanswered.front().method == methods::kAnalyze && looking &&
             notRun.message.empty()) {
    notRun = end.error;  // sent once more
  } else if (!unanswered.empty()) {
    answer(unanswered.front().id, sentence(*lost, end));
    unanswered.pop_front();
  }
  logServe(sentence(*lost, end).message);
  if (const std::string file = state_.changedFile(); !file.empty()) loseModel(file, unanswered);
  bringBack(std::move(notRun), *lost, std::move(unanswered));
}

// Its requests cannot be repeated on other content: it gets no more of them until a model is opened.
void ServeSupervisor::loseModel(const std::string& file, std::list<Pending>& unanswered) {
  state_.forgetModel();
  lostModel_ = Error{ErrorCode::Unreadable, file + " has changed on the disk since it was opened", "open it again"};
  for (const Pending& request : unanswered) {
    request.method == methods::kPing ? answerPing(request.id) : answer(request.id, *lostModel_);
  }
  unanswered.clear();
}

void ServeSupervisor::bringBack(Error notRun, ServeSide& lost, std::list<Pending> unanswered) {
  if (!startWorker(state_.journal(std::move(notRun)), std::move(lost.worker().grants()))) giveUp();
  current_->opened = state_.hasModel();
  current_->modelPath = lost.modelPath;
  for (Pending& request : unanswered) {
    if (request.method == methods::kPing) {
      answerPing(request.id);
    } else if (request.cancelled) {
      answer(request.id, {ErrorCode::Cancelled, "stopped on request", {}});
    } else {
      hand(*current_, std::move(request));
    }
  }
}

void grantFilesOf(std::string_view method, const nlohmann::json& params, confine::Grants& grants) {
  if (!params.is_object()) return;
  if (method == methods::kLab) return grantFilesOfRun(params, grants);
  for (const PathParameter& path : kPaths) {
    const auto given = path.method == method ? params.find(path.name) : params.end();
    if (given == params.end() || !given->is_string()) continue;
    path.written ? grants.toWrite(given->get<std::string>()) : grants.toRead(given->get<std::string>());
  }
}

void logServe(const std::string& line) { std::fprintf(stderr, "normlens-engine: %s\n", printable(line).c_str()); }

Exit ServeSupervisor::run(bool torchFirst) {
  if (!startWorker({{}, {}, torchFirst}, {})) return Exit::Unreadable;
  while (!done()) {
    wait();
    if (signals_.next()) return Exit::NotDone;
    watchOver();
  }
  return Exit::Done;
}

// ---- waiting

void ServeSupervisor::wait() {
  std::vector<pollfd> events{{signals_.descriptor(), POLLIN, 0}};
  const auto add = [&](int fd, short what) { events.push_back({fd, what, 0}); };
  add(clientGone_ ? -1 : STDIN_FILENO, POLLIN);
  add(outgoing_.empty() ? -1 : client_, POLLOUT);
  for (ServeSide* side : sides()) {
    add(side->worker().door(), POLLIN);
    add(side->worker().noise(), POLLIN);
    add(relays() ? side->replies() : -1, POLLIN);
    add(side->unsent() ? side->requests() : -1, POLLOUT);
  }
  ::poll(events.data(), events.size(), static_cast<int>(kTick.count()));
  if (events[2].revents != 0) tellClient();
  size_t at = 3;
  for (ServeSide* side : sides()) {
    // Replies come before the door: a question there after an answer belongs to the next request.
    if (events[at + 2].revents != 0) relaySome(*side);
    if (events[at].revents != 0) side->worker().serveDoor();
    if (events[at + 1].revents != 0) side->worker().readNoise();
    if (events[at + 3].revents != 0) side->push();
    at += 4;
  }
  if (events[1].revents != 0) hear();
  settle();
  answerAboutFiles();
}

std::vector<ServeSide*> ServeSupervisor::sides() {
  std::vector<ServeSide*> all{current_.get()};
  if (next_) all.push_back(next_.get());
  return all;
}

// Relays as much as a pipe holds: one that goes on writing is not waited for.
void ServeSupervisor::relaySome(ServeSide& side) {
  constexpr int kReads = 32;
  for (int i = 0; i < kReads && side.relay(outgoing_); ++i) {
  }
}

void ServeSupervisor::say(std::string_view body) { outgoing_ += protocol::encodeFrame(body); }

void ServeSupervisor::tellClient() {
  // So few that a pipe that can be written to takes them all: a client that does not read stops nobody here.
  const ssize_t written =
      ::write(client_, outgoing_.data() + told_, std::min<size_t>(outgoing_.size() - told_, PIPE_BUF));
  if (written > 0) told_ += static_cast<size_t>(written);
  if (told_ > outgoing_.size() / 2) outgoing_.erase(0, std::exchange(told_, 0));
  if (written >= 0 || errno == EINTR || errno == EAGAIN) return;
  outgoing_.clear();  // nobody reads any more
  told_ = 0;
  endClient();
}

void ServeSupervisor::endClient() {
  clientGone_ = true;
  if (!ending_) ending_ = Clock::now();
  held_.clear();
  filesAsked_.clear();
  for (ServeSide* side : sides()) side->closeRequests();
}

bool ServeSupervisor::done() {
  if (!ending_) return false;
  if (!ended_ && current_->worker().ended()) {
    ended_ = true;
    relaySome(*current_);
  }
  return (ended_ && outgoing_.empty()) || Clock::now() > *ending_ + kEndPatience;
}

// ---- the client's requests

void ServeSupervisor::hear() {
  std::array<char, 1 << 16> bytes{};
  const ssize_t got = ::read(STDIN_FILENO, bytes.data(), bytes.size());
  if (got < 0 && errno == EINTR) return;
  if (got <= 0) return endClient();
  heard_.feed({bytes.data(), static_cast<size_t>(got)});
  while (auto frame = heard_.next()) {
    *frame ? receive(std::move(**frame)) : logServe(frame->error().message);
  }
}

void ServeSupervisor::receive(std::string body) {
  auto message = protocol::parseMessage(body);
  if (message && message->method == methods::kCancel) return cancel(message->params);
  if (!message || !message->isRequest()) return current_->send(body);  // the worker reports what is wrong with it
  Pending request{*message->id, std::move(message->method), std::move(body), std::move(message->params), {}};
  if (ExchangedFiles::isAbout(request.method)) return filesAsked_.push_back(std::move(request));
  if (request.method == methods::kPing) {  // never behind others
    return current_->ready() ? hand(*current_, std::move(request)) : answerPing(request.id);
  }
  held_.push_back(std::move(request));
}

// A reply may be a thousand times as long as its request: as many as a client reads.
void ServeSupervisor::answerAboutFiles() {
  while (!filesAsked_.empty() && relays()) {
    const Pending& request = filesAsked_.front();
    say(files_.answer(request.id, request.method, request.params));
    filesAsked_.pop_front();
  }
}

// Requests go on as they came, but for one that opens a model beside another: it waits until no other is pending.
void ServeSupervisor::settle() {
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

void ServeSupervisor::hand(ServeSide& side, Pending request) {
  grantFilesOf(request.method, request.params, side.worker().grants());
  if (request.method == methods::kOpen && request.params.is_object()) {
    side.opened = true;
    const auto path = request.params.find("path");
    side.modelPath = path != request.params.end() && path->is_string() ? path->get<std::string>() : "the model";
    limits_ = limitsOf(request.params, usual_);
    side.worker().setLimits(limits_);
  }
  if (request.method == methods::kShutdown) ending_ = Clock::now();
  request.begin = side.queued();
  side.send(request.body);
  side.push();
  side.pending.push_back(std::move(request));
}

void ServeSupervisor::openBeside() {
  ClientState plain = state_;
  plain.forgetModel();
  limits_ = limitsOf(held_.front().params, usual_);
  auto side = makeSide(plain.journal({}), {});
  if (!side) return answer(held_.front().id, {ErrorCode::Internal, side.error().message, {}});
  next_ = std::move(*side);
  hand(*next_, std::move(held_.front()));
}

void ServeSupervisor::cancel(const nlohmann::json& params) {
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

void ServeSupervisor::answer(int64_t id, const Error& error) {
  say(protocol::failureBody(id, protocol::rpcFailure(error)));
}

void ServeSupervisor::answerPing(int64_t id) { say(protocol::resultBody(id, nullptr)); }

Declared declareServe(CLI::App& app, const confine::Limits& limits) {
  const auto torchFirst = std::make_shared<bool>(false);
  app.add_flag("--torch-first", *torchFirst, "Load LibTorch before the first request: a model of torch will be opened");
  return {{}, {}, [&limits, torchFirst](Console& console) {
            for (const int reported : {SIGPIPE, SIGXFSZ}) std::signal(reported, SIG_IGN);  // by the write that failed
            const int frames = console.ownStdout();                                        // carries frames only
            if (frames < 0) return console.fail(Error{ErrorCode::Internal, "stdout cannot be used for frames", {}});
            return ServeSupervisor(frames, limits).run(*torchFirst);
          }};
}

}  // namespace normlens::engine
