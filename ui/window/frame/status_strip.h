// The line at the bottom: engine, device, model size, memory; at the right what is running, how far, and its stop;
// what was stopped.
#pragma once

#include <QFrame>

#include "ui/client/engine_client.h"

class QLabel;
class QProgressBar;
class QTimer;

namespace normlens::ui {

class ElidedLabel;
class IconButton;
class Session;
struct Job;

class StatusStrip final : public QFrame {
  Q_OBJECT

 public:
  explicit StatusStrip(QWidget* parent = nullptr);

  void showEngine(const EngineClient& engine);
  void showModel(const Session& session);
  void showJob(const Job& job, bool canStop = true);
  void showStopped(const Job& job);  // for some seconds, unless something else runs

 Q_SIGNALS:
  void cancelClicked();
  void logClicked();

 private:
  void showMemory();

  EngineClient::State state_ = EngineClient::State::Stopped;
  int silence_ = 0;                       // seconds
  const EngineClient* engine_ = nullptr;  // Not owned.
  QLabel* dot_;
  QLabel* engineLabel_;
  QLabel* device_;
  QLabel* model_;
  QLabel* memory_;
  ElidedLabel* stage_;
  QProgressBar* bar_;
  IconButton* cancel_;
  QTimer* stopped_;  // runs while what was stopped is shown
};

}  // namespace normlens::ui
