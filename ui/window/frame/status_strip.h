// The line at the bottom: engine, device, model size, memory; at the right what is running, how far, and its stop.
#pragma once

#include <QFrame>
#include <array>

#include "ui/client/engine_client.h"

class QLabel;
class QProgressBar;

namespace normlens::ui {

class IconButton;
class Session;
struct Job;

class StatusStrip final : public QFrame {
  Q_OBJECT

 public:
  explicit StatusStrip(QWidget* parent = nullptr);

  void showEngine(const EngineClient& engine);
  void showModel(const Session& session);
  void showJob(const Job& job);

 Q_SIGNALS:
  void cancelClicked();

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
  QLabel* stage_;
  QProgressBar* bar_;
  IconButton* cancel_;
  std::array<QWidget*, 3> job_;  // shown while something runs
};

}  // namespace normlens::ui
