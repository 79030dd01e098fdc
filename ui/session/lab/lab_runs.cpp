#include "ui/session/lab/lab_runs.h"

#include <algorithm>
#include <utility>

#include "ui/client/on_worker.h"
#include "ui/session/project/project.h"
#include "ui/words/format.h"

namespace normlens::ui {

namespace methods = protocol::methods;

LabRuns::LabRuns(const EngineClient* engine, QString folder, QObject* parent)
    : QObject(parent), usual_(engine), folder_(std::move(folder)) {}

LabRuns::~LabRuns() = default;

void LabRuns::read() {
  if (busy() || reading_) return;
  reading_ = true;
  onWorker(
      this, [folder = folder_] { return keptRuns(folder); },
      [this](std::vector<KeptRun> runs) {
        reading_ = false;
        runs_ = std::move(runs);
        keepBrought();
        Q_EMIT changed();
      });
}

std::vector<lab::RunResult> LabRuns::ofProject() const {
  std::vector<lab::RunResult> results = brought_;
  for (const KeptRun& run : runs_) {
    if (results.size() < kMostRuns && std::ranges::find(ofProject_, run.number) != ofProject_.end())
      results.push_back(resultOf(run));
  }
  return results;
}

void LabRuns::bring(const std::vector<lab::RunResult>& results) {
  ofProject_.clear();
  if (busy()) ofProject_.push_back(number_);
  brought_ = results;
  if (brought_.empty()) return;
  read();
  if (!busy()) return;
  keepBrought();
  Q_EMIT changed();
}

// The same run, if it is kept: one of the two may have got further.
const KeptRun* LabRuns::knownAs(const lab::RunResult& result) const {
  const auto isStart = [](const std::vector<lab::RunRecord>& of, const std::vector<lab::RunRecord>& whole) {
    return of.size() <= whole.size() && std::equal(of.begin(), of.end(), whole.begin());
  };
  const auto known = std::ranges::find_if(runs_, [&](const KeptRun& run) {
    return run.settings == result.settings &&
           (isStart(run.records, result.records) || isStart(result.records, run.records));
  });
  return known == runs_.end() ? nullptr : &*known;
}

void LabRuns::keepBrought() {
  std::ranges::reverse(brought_);  // the newest gets the highest number
  for (const lab::RunResult& result : std::exchange(brought_, {})) {
    if (const KeptRun* known = knownAs(result)) {
      ofProject_.push_back(known->number);
    } else if (auto made = makeRun(folder_, result.settings); made && keepResult(*made, result)) {
      ofProject_.push_back(made->number);
      runs_.insert(runs_.begin(), std::move(*made));
    }
  }
}

KeptRun* LabRuns::find(int number) {
  const auto found = std::ranges::find(runs_, number, &KeptRun::number);
  return found == runs_.end() ? nullptr : &*found;
}

const KeptRun* LabRuns::run(int number) const { return const_cast<LabRuns*>(this)->find(number); }

qint64 LabRuns::engineProcess() const { return engine_ ? engine_->info().pid : 0; }

qint64 LabRuns::remainingMs() const { return state_ == State::Training ? remaining_.milliseconds() : -1; }

void LabRuns::start(const lab::RunSettings& settings) {
  if (busy() || reading_) return;
  auto made = makeRun(folder_, settings);
  if (!made) {
    problem_ = asSentence(text(made.error().message));
    Q_EMIT changed();
    return;
  }
  runs_.insert(runs_.begin(), std::move(*made));
  ofProject_.push_back(runs_.front().number);
  train(runs_.front());
}

void LabRuns::resume(int number, const std::string& device) {
  KeptRun* run = find(number);
  if (busy() || reading_ || run == nullptr || run->isDone()) return;
  if (!device.empty()) {
    run->settings.device = device;
    if (!keepSettings(*run)) {
      problem_ = tr("%1 cannot be written.").arg(run->folder);
      return Q_EMIT changed();
    }
  }
  if (std::ranges::find(ofProject_, number) == ofProject_.end()) ofProject_.push_back(number);
  train(*run);
}

void LabRuns::train(KeptRun& run) {
  number_ = run.number;
  problem_.clear();
  lock_ = std::make_unique<QLockFile>(run.folder + QStringLiteral("/lock"));
  lock_->setStaleLockTime(0);
  if (!lock_->tryLock() && lock_->error() == QLockFile::LockFailedError) {
    lock_.reset();
    problem_ = tr("Another window trains run %1.").arg(number_);
    Q_EMIT changed();
    return;
  }
  run.end = lab::RunEnd::Open;
  run.findings.clear();
  run.costs.clear();
  fraction_ = 0;
  engine_ = std::make_unique<EngineClient>();
  engine_->setCommand(usual_->command());
  connect(engine_.get(), &EngineClient::trained, this,
          [this](const protocol::LabUpdate& update) { hear(update.record); });
  engine_->start();
  protocol::LabParams params{std::to_string(run.number), run.folder.toStdString(), run.settings};
  engine_->request(methods::kLab, params, this, [this](Reply<lab::RunResult>& reply) { ended(reply); });
  clock_.start();
  remaining_.begin(0);
  setState(State::Starting);
}

void LabRuns::hear(const lab::RunRecord& record) {
  KeptRun* run = find(number_);
  if (run == nullptr) return;
  if (record.of > 0) fraction_ = static_cast<double>(record.done) / static_cast<double>(record.of);
  if (record.event == lab::RunEvent::Epoch || record.event == lab::RunEvent::Diverged) {
    addRecord(*run, record);
    if (!logRecord(*run, record)) problem_ = tr("%1 cannot be written.").arg(run->folder);
    remaining_.report(QStringLiteral("training"), fraction_, clock_.elapsed());
    if (state_ == State::Starting) setState(State::Training);
    Q_EMIT recorded();
  } else if (record.event == lab::RunEvent::Measured) {
    remaining_.report(QStringLiteral("measuring"), fraction_, clock_.elapsed());
    Q_EMIT recorded();
  } else if (record.event == lab::RunEvent::Paused) {
    if (state_ == State::Pausing) setState(State::Paused);
    if (!record.text.empty()) problem_ = asSentence(text(record.text));
  } else if (record.event == lab::RunEvent::Started || record.event == lab::RunEvent::Resumed ||
             record.event == lab::RunEvent::Continued) {
    remaining_.begin(clock_.elapsed());
    if (state_ == State::Starting || state_ == State::Paused) setState(State::Training);
  }
}

void LabRuns::ended(Reply<lab::RunResult>& reply) {
  KeptRun* run = find(number_);
  if (reply && run != nullptr) {
    takeResult(*run, *reply);
  } else if (!reply) {
    const EngineError& error = reply.error();
    problem_ = asSentence(error.message);
    if (!error.engineDied && !error.hint.isEmpty()) {
      problem_ += u' ' + asSentence(error.hint);
    } else if (run != nullptr && run->hasCheckpoint()) {
      problem_ += u' ' + tr("Resume continues from the last checkpoint.");
    }
  }
  rest();
  setState(State::Idle);
}

// It is called by the engine's client, which goes later.
void LabRuns::rest() {
  if (!engine_) return;
  engine_->disconnect(this);
  engine_.release()->deleteLater();
  lock_.reset();
}

void LabRuns::say(lab::RunWish what) {
  if (engine_) engine_->notify(methods::kLabControl, protocol::LabControl{what});
}

void LabRuns::pause() {
  if (state_ != State::Training) return;
  say(lab::RunWish::Pause);
  setState(State::Pausing);
}

void LabRuns::goOn() {
  if (state_ != State::Pausing && state_ != State::Paused) return;
  say(lab::RunWish::Continue);
  setState(State::Training);
}

void LabRuns::stop() {
  if (!busy() || state_ == State::Stopping) return;
  say(lab::RunWish::Stop);
  setState(State::Stopping);
}

void LabRuns::setState(State state) {
  state_ = state;
  Q_EMIT changed();
}

}  // namespace normlens::ui
