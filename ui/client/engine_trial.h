// Starts an engine by a command to see whether it answers, and ends it.
//
//   EngineTrial trial;
//   connect(&trial, &EngineTrial::ended, this, [](bool works, const QString& words) { ... });
//   trial.start(engineCommandFromLine("ssh gpu-box normlens-engine serve"));
//
// Thread: GUI thread; nothing here waits. ended() is emitted once for each start(), unless stop() comes before it.
#pragma once

#include <QElapsedTimer>
#include <QObject>
#include <QTimer>

#include "ui/client/engine_client.h"

namespace normlens::ui {

class EngineTrial final : public QObject {
  Q_OBJECT

 public:
  static constexpr std::chrono::seconds kPatience{30};  // in which the engine has to answer

  explicit EngineTrial(QObject* parent = nullptr);

  void start(const EngineCommand& command);  // ends a trial that is under way
  void stop();

 Q_SIGNALS:
  void ended(bool works, const QString& words);

 private:
  void end(bool works, const QString& words);

  std::unique_ptr<EngineClient> engine_;  // made at the first start, as it owns a thread
  QTimer patience_;
  QElapsedTimer clock_;
};

}  // namespace normlens::ui
