#include "ui/session/report_run.h"

#include "ui/session/session.h"

namespace normlens::ui {

void ReportRun::start(protocol::ReportFormat format, std::optional<protocol::ReportGraph> graph) {
  protocol::ReportParams params;
  params.model = session_->title().toStdString();
  params.format = format;
  params.graph = std::move(graph);
  params.bench = session_->measurements()->last();
  stage_.clear();
  share_ = -1;
  ask(protocol::methods::kReport, params,
      [this](const protocol::Report& report) { Q_EMIT made(QByteArray::fromStdString(report.text)); });
  Q_EMIT changed();
}

void ReportRun::stop() {
  if (!running()) return;
  EngineRun::stop();
  Q_EMIT notMade({});
}

void ReportRun::fail(const EngineError& error) {
  problem_.clear();
  EngineRun::fail(error);
  Q_EMIT notMade(problem_);
}

}  // namespace normlens::ui
