#include "ui/window/frame/story_bar.h"

#include <QHBoxLayout>
#include <QPainter>

#include "ui/theme/icons.h"
#include "ui/theme/theme.h"
#include "ui/widgets/push_button.h"

namespace normlens::ui {

namespace {

class Chevron final : public QWidget {
 public:
  explicit Chevron(QWidget* parent) : QWidget(parent) { setFixedSize(30, 44); }

 protected:
  void paintEvent(QPaintEvent*) override {
    QPainter painter(this);
    paintIcon(painter, QRectF(9, 16, 12, 12), QStringLiteral("chevron_right"), themeOf(this).control);
  }
};

const char* const kSegmentNames[StorySteps] = {"storyModel", "storyFoldable", "storyPlan", "storyProved",
                                               "storyMeasured"};

QString tipOf(int index) {
  switch (index) {
    case StoryModel:
      return StoryBar::tr("The opened file. Click for what is in it.");
    case StoryFoldable:
      return StoryBar::tr("How many LayerNorms can become RMSNorms without changing an output.");
    case StoryPlan:
      return StoryBar::tr("The edits that would be made; the opened file itself is never changed.");
    case StoryProved:
      return StoryBar::tr("The largest relative difference between the original's and the folded model's outputs.");
    default:
      return StoryBar::tr("Median latency of the original divided by that of the folded model.");
  }
}

}  // namespace

StoryBar::StoryBar(QWidget* parent) : QFrame(parent) {
  setObjectName(QStringLiteral("storyBar"));
  setAccessibleName(tr("Progress of the work"));
  setFixedHeight(52);
  auto* layout = new QHBoxLayout(this);
  layout->setContentsMargins(8, 0, 12, 0);
  layout->setSpacing(0);
  for (int i = 0; i < StorySteps; ++i) {
    if (i > 0) layout->addWidget(new Chevron(this));
    auto* segment = new StorySegment(this);
    segment->setObjectName(QLatin1String(kSegmentNames[i]));
    segment->setToolTip(tipOf(i));
    connect(segment, &QAbstractButton::clicked, this, [this, i] { Q_EMIT stepClicked(i); });
    segments_[static_cast<size_t>(i)] = segment;
    layout->addWidget(segment);
  }
  layout->addStretch(1);
  button_ = new PushButton({}, PushButton::Look::Filled, this);
  button_->setObjectName(QStringLiteral("nextAction"));
  button_->setToolTip(tr("The next sensible step; every other one is in the bar above."));
  connect(button_, &QPushButton::clicked, this, &StoryBar::nextClicked);
  layout->addWidget(button_);
}

void StoryBar::setStory(const Story& story) {
  for (size_t i = 0; i < StorySteps; ++i) segments_[i]->setStep(story.steps[i]);
  next_ = story.next;
  button_->setVisible(story.next != NextAction::None);
  button_->setText(story.nextText);
  button_->setToolTip(story.nextTip);
  button_->setAccessibleDescription(story.nextTip);
  button_->setIconName(story.nextIcon);
}

}  // namespace normlens::ui
