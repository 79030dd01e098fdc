// The workers of `serve`: how they begin, take each other's place and are lost.
#include <algorithm>
#include <cstdlib>

#include "app/engine/serve/serve_supervisor.h"
#include "app/engine/verbs/model_options.h"
#include "core/protocol/methods.h"

namespace normlens::engine {
namespace {

namespace methods = protocol::methods;

constexpr std::chrono::milliseconds kCancelPatience{700};

Error sentence(const ServeSide& side, const confine::Worker::End& end) {
  if (!end.byItself) return inFile(side.modelPath, end.error);
  return {ErrorCode::Internal, "the process of " + side.modelPath + " ended by itself", "please report it"};
}

// The client sees the stream end, as it would if this process had died.
[[noreturn]] void giveUp() {
  logServe("no process for models can be started on this machine; the engine ends");
  std::_Exit(static_cast<int>(Exit::Unreadable));
}

}  // namespace

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
  std::string notRun = lost->journal().notRun;
  if (!lost->ready()) {
    if (!state_.hasModel()) giveUp();
    state_.dropLast();  // bringing it back ended the next one as well
  } else if (!unanswered.empty() && unanswered.front().cancelled) {
    answer(unanswered.front().id, {ErrorCode::Cancelled, "stopped on request", {}});
    unanswered.pop_front();
  } else if (!unanswered.empty() && !lost->took(unanswered.front()) && !unanswered.front().askedAgain) {
    unanswered.front().askedAgain = true;  // it came when that worker was dead already
  } else if (!unanswered.empty() && unanswered.front().method == methods::kAnalyze && looking && notRun.empty()) {
    notRun = end.error.message;  // sent once more
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

void ServeSupervisor::bringBack(std::string notRun, ServeSide& lost, std::list<Pending> unanswered) {
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

}  // namespace normlens::engine
