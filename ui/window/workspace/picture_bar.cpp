#include "ui/window/workspace/picture_bar.h"

#include <QFileInfo>

#include "ui/graphview/paint/picture_job.h"

namespace normlens::ui {

using graphview::PictureJob;

PictureBar::PictureBar(QWidget* parent) : WritingBar(parent) {
  connect(this, &WritingBar::stopWanted, this, [this] {
    if (job_) job_->cancel();
  });
}

PictureBar::~PictureBar() = default;

void PictureBar::start(graphview::PictureOrder order) {
  begin(tr("Writing %1").arg(QFileInfo(order.path).fileName()));
  job_ = std::make_unique<PictureJob>(std::move(order));
  connect(job_.get(), &PictureJob::progressed, this, &PictureBar::progress);
  connect(job_.get(), &PictureJob::finished, this, [this](const QStringList& files) {
    end(true,
        files.size() == 1
            ? tr("Wrote %1.").arg(files.first())
            : tr("Wrote %n tiles, the first of them %1.", nullptr, static_cast<int>(files.size())).arg(files.first()));
  });
  connect(job_.get(), &PictureJob::failed, this, [this](const QString& message) { end(false, message); });
}

void PictureBar::end(bool written, const QString& message) {
  hide();
  // Not from inside the job's own signal.
  QMetaObject::invokeMethod(
      this,
      [this, finished = job_.get()] {
        if (job_.get() == finished) job_.reset();
      },
      Qt::QueuedConnection);
  Q_EMIT done(written, message);
}

}  // namespace normlens::ui
