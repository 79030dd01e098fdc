// The laboratory's runs: those that a folder keeps, and the one that is trained, in an engine of its own, so that the
// window's goes on answering. That engine ends with the run; a run that ended too early goes on from its checkpoint.
// Thread: GUI thread.
#pragma once

#include <QElapsedTimer>
#include <QLockFile>
#include <QObject>
#include <memory>

#include "core/protocol/lab_messages.h"
#include "ui/client/engine_client.h"
#include "ui/session/lab/run_store.h"
#include "ui/words/remaining_time.h"

namespace normlens::ui {

class LabRuns final : public QObject {
  Q_OBJECT

 public:
  enum class State { Idle, Starting, Training, Pausing, Paused, Stopping };

  // engine: whose command starts the own one; not owned.
  LabRuns(const EngineClient* engine, QString folder, QObject* parent);
  ~LabRuns() override;

  // Reads the folder's runs on a worker and then emits changed(). Does nothing while one is trained.
  void read();
  [[nodiscard]] const std::vector<KeptRun>& runs() const { return runs_; }  // the newest first
  [[nodiscard]] const KeptRun* run(int number) const;                       // nullptr: there is none

  // Returns the runs of the open project: those that it brought, and those that were trained since; the newest first.
  [[nodiscard]] std::vector<lab::RunResult> ofProject() const;
  // A project was opened that has these: those that are not kept yet are from now on. What is trained goes on, and is
  // the project's.
  void bring(const std::vector<lab::RunResult>& results);

  void start(const lab::RunSettings& settings);  // a new run
  // One that has not ended as "done"; device: another one than it began on.
  void resume(int number, const std::string& device = {});
  void pause();
  void goOn();
  void stop();  // The trained epochs are kept.

  [[nodiscard]] State state() const { return state_; }
  [[nodiscard]] bool busy() const { return state_ != State::Idle; }
  [[nodiscard]] bool isReading() const { return reading_; }           // nothing can be started meanwhile
  [[nodiscard]] int running() const { return busy() ? number_ : 0; }  // number; 0: none
  [[nodiscard]] const QString& problem() const { return problem_; }   // The last run's, a sentence; may be empty.
  [[nodiscard]] double fraction() const { return fraction_; }         // Covers all epochs of the run.
  [[nodiscard]] qint64 engineProcess() const;                         // 0: none
  [[nodiscard]] qint64 remainingMs() const;                           // -1: no estimate

 Q_SIGNALS:
  void changed();   // state, problem, or which runs there are
  void recorded();  // an epoch more

 private:
  void train(KeptRun& run);
  void keepBrought();
  [[nodiscard]] const KeptRun* knownAs(const lab::RunResult& result) const;
  void hear(const lab::RunRecord& record);
  void ended(Reply<lab::RunResult>& reply);
  void say(lab::RunWish what);
  void rest();
  void setState(State state);
  [[nodiscard]] KeptRun* find(int number);

  const EngineClient* usual_;
  QString folder_;
  std::vector<KeptRun> runs_;
  std::vector<int> ofProject_;           // numbers
  std::vector<lab::RunResult> brought_;  // that are not kept yet
  bool reading_ = false;
  std::unique_ptr<QLockFile> lock_;       // Locks the run that is trained: another window may have the same folder.
  std::unique_ptr<EngineClient> engine_;  // nullptr: nothing is trained
  State state_ = State::Idle;
  int number_ = 0;
  QString problem_;
  double fraction_ = 0;
  QElapsedTimer clock_;
  RemainingTime remaining_;
};

}  // namespace normlens::ui
