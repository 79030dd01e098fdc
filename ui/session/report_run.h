// Requests the page about the last fold from the engine, with the pictures that the window has drawn and what it has
// measured of that fold. Thread: GUI thread.
#pragma once

#include <optional>

#include "core/protocol/report_messages.h"
#include "ui/session/engine_run.h"

namespace normlens::ui {

class ReportRun final : public EngineRun {
  Q_OBJECT

 public:
  explicit ReportRun(Session* session) : EngineRun(session) {}  // its owner

  void start(protocol::ReportFormat format, std::optional<protocol::ReportGraph> graph);
  void stop() override;

 Q_SIGNALS:
  void made(const QByteArray& text);  // the whole file
  void notMade(const QString& why);   // a sentence; empty: stopped

 private:
  void fail(const EngineError& error) override;
};

}  // namespace normlens::ui
