// Requests the page about the last fold from the engine, with the pictures that the window has drawn and what it has
// measured of that fold. Runs beside the session's jobs. Thread: GUI thread.
#pragma once

#include <QObject>
#include <vector>

#include "core/protocol/report_messages.h"
#include "ui/client/question.h"

namespace normlens::ui {

class Session;

class ReportRun final : public QObject {
  Q_OBJECT

 public:
  explicit ReportRun(Session* session);  // its owner

  void start(const QString& format, std::vector<protocol::ReportPicture> pictures);  // html, markdown
  void stop() { question_.stop(); }
  [[nodiscard]] bool running() const { return question_.pending(); }
  [[nodiscard]] const QString& stage() const { return stage_; }
  [[nodiscard]] double fraction() const { return fraction_; }

 Q_SIGNALS:
  void made(const QByteArray& text);  // the whole file
  void notMade(const QString& why);   // a sentence; empty: stopped
  void changed();                     // running, stage or fraction

 private:
  Session* session_;
  Question question_;
  QString stage_;
  double fraction_ = -1;
};

}  // namespace normlens::ui
