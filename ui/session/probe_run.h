// The geometry probe of the open model, or of its last fold: asked of the engine when wanted. Thread: GUI thread.
#pragma once

#include <QObject>
#include <optional>

#include "core/protocol/probe_messages.h"
#include "ui/client/question.h"

namespace normlens::ui {

class Session;

class ProbeRun final : public QObject {
  Q_OBJECT

 public:
  explicit ProbeRun(Session* session);  // its owner

  void start(const protocol::ProbeParams& params);
  void stop();
  [[nodiscard]] bool running() const { return question_.pending(); }
  [[nodiscard]] const std::optional<protocol::ProbeResult>& result() const { return result_; }
  [[nodiscard]] const QString& problem() const { return problem_; }  // a sentence, or empty
  [[nodiscard]] QString obstacle() const;                            // why it cannot be started now; empty: it can

 Q_SIGNALS:
  void changed();

 private:
  void forget();

  Session* session_;
  std::optional<protocol::ProbeResult> result_;
  QString problem_;
  Question question_;
};

}  // namespace normlens::ui
