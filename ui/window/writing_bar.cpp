#include "ui/window/writing_bar.h"

#include <QProgressBar>

#include "ui/widgets/elided_label.h"
#include "ui/widgets/follow_text.h"
#include "ui/widgets/icon_button.h"
#include "ui/window/parts.h"

namespace normlens::ui {

WritingBar::WritingBar(QWidget* parent) : QFrame(parent) {
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
  connect(stop, &QToolButton::clicked, this, &WritingBar::stopWanted);
  hide();
}

void WritingBar::begin(const QString& words) {
  label_->setFullText(words);
  progress(-1);
  show();
}

void WritingBar::progress(double fraction) {
  progress_->setRange(0, fraction < 0 ? 0 : 1000);
  if (fraction >= 0) progress_->setValue(static_cast<int>(1000 * fraction));
}

}  // namespace normlens::ui
