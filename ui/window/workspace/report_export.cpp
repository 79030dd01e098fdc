#include "ui/window/workspace/report_export.h"

#include <QFile>

#include "ui/graphview/graph_view.h"
#include "ui/graphview/paint/picture_job.h"
#include "ui/session/report_run.h"
#include "ui/session/session.h"
#include "ui/theme/theme.h"
#include "ui/window/parts.h"
#include "ui/window/workspace/graph_pane.h"

namespace normlens::ui {

using graphview::PictureJob;

ReportExport::ReportExport(Session* session, GraphPane* graph, QObject* parent)
    : QObject(parent), session_(session), graph_(graph) {
  connect(session_->report(), &ReportRun::made, this, &ReportExport::write);
  connect(session_->report(), &ReportRun::notMade, this, [this](const QString& why) {
    path_.clear();
    if (!why.isEmpty()) Q_EMIT failed(why);
  });
}

ReportExport::~ReportExport() = default;

void ReportExport::start(const QString& path) {
  job_.reset();
  path_ = path;
  pictures_.clear();
  orders_.clear();
  // Markdown describes pictures in words, and has no place for them.
  if (!path.endsWith(QLatin1String(".md"))) orders_ = graph_->reportPictures(folder_.path());
  drawNext();
}

void ReportExport::drawNext() {
  if (pictures_.size() == orders_.size()) {
    const bool html = !path_.endsWith(QLatin1String(".md"));
    return session_->report()->start(html ? protocol::ReportFormat::Html : protocol::ReportFormat::Markdown, pictures_);
  }
  job_ = std::make_unique<PictureJob>(orders_[pictures_.size()]);
  const auto queued = Qt::QueuedConnection;  // not from inside the job's own signal
  connect(job_.get(), &PictureJob::finished, this, &ReportExport::drawn, queued);
  connect(
      job_.get(), &PictureJob::failed, this,
      [this](const QString& why) {
        path_.clear();
        Q_EMIT failed(why);
      },
      queued);
}

void ReportExport::drawn() {
  const bool before = pictures_.empty();
  QFile file(orders_[pictures_.size()].path);
  protocol::ReportPicture picture;
  picture.title = (before ? tr("Before") : tr("After")).toStdString();
  picture.alt = (before ? tr("The graph of the original, with the groups as shown in the window")
                        : tr("The same graph after the fold: RMSNorms, and what was centered"))
                    .toStdString();
  if (file.open(QIODevice::ReadOnly)) picture.svg = file.readAll().toStdString();
  pictures_.push_back(std::move(picture));
  drawNext();
}

void ReportExport::write(const QByteArray& text) {
  const QString path = std::exchange(path_, {});
  if (path.isEmpty()) return;
  if (writeFile(path, text)) return Q_EMIT written(path);
  Q_EMIT failed(tr("%1 could not be written.").arg(path));
}

}  // namespace normlens::ui
