#include "ui/window/workspace/picture_bar.h"

#include <QFileInfo>
#include <QProgressBar>

#include "ui/graphview/paint/picture_job.h"
#include "ui/widgets/elided_label.h"
#include "ui/widgets/follow_text.h"
#include "ui/widgets/icon_button.h"
#include "ui/window/parts.h"

namespace normlens::ui {

using graphview::PictureJob;

PictureBar::PictureBar(QWidget* parent) : QFrame(parent) {
  describe(this, "pictureBar", {}, tr("Picture that is being written"));
  setTextHeight(this, 28);
  auto* layout = makeRow(this, -1, {12, 0, 8, 0});
  label_ = new ElidedLabel({}, Qt::ElideMiddle, this);  // a long name of a file takes no room from what is above it
  layout->addWidget(label_);
  progress_ = new QProgressBar(this);
  progress_->setTextVisible(false);
  progress_->setFixedHeight(6);
  progress_->setAccessibleName(tr("Progress of the picture"));
  progress_->setToolTip(tr("How much of the picture is written."));
  layout->addWidget(progress_, 1);
  auto* stop =
      describe(new IconButton(QStringLiteral("close"), {}, tr("Stop writing the picture."), this), "stopPicture");
  stop->setIconExtent(12);
  layout->addWidget(stop);
  connect(stop, &QToolButton::clicked, this, [this] {
    if (job_) job_->cancel();
  });
  hide();
}

PictureBar::~PictureBar() = default;

void PictureBar::start(graphview::PictureOrder order) {
  label_->setFullText(tr("Writing %1").arg(QFileInfo(order.path).fileName()));
  progress_->setRange(0, 0);
  job_ = std::make_unique<PictureJob>(std::move(order));
  connect(job_.get(), &PictureJob::progressed, this, [this](double fraction) {
    progress_->setRange(0, fraction < 0 ? 0 : 1000);
    if (fraction >= 0) progress_->setValue(static_cast<int>(1000 * fraction));
  });
  connect(job_.get(), &PictureJob::finished, this, [this](const QStringList& files) {
    end(true,
        files.size() == 1
            ? tr("Wrote %1.").arg(files.first())
            : tr("Wrote %n tiles, the first of them %1.", nullptr, static_cast<int>(files.size())).arg(files.first()));
  });
  connect(job_.get(), &PictureJob::failed, this, [this](const QString& message) { end(false, message); });
  show();
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
