#include "ui/window/frame/story_bar.h"

#include "ui/theme/theme.h"
#include "ui/widgets/push_button.h"
#include "ui/window/parts.h"

namespace normlens::ui {

StoryBar::StoryBar(QWidget* parent) : QFrame(parent) {
  describe(this, "storyBar", {}, tr("Progress of the work"));
  setFixedHeight(52);
  auto* layout = makeRow(this, 0, {8, 0, 12, 0});
  // By StoryIndex.
  const std::pair<const char*, QString> segments[StorySteps] = {
      {"storyModel", tr("The opened file. Click for what is in it.")},
      {"storyFoldable", tr("How many LayerNorms can become RMSNorms without changing an output.")},
      {"storyPlan", tr("The edits that would be made; the opened file itself is never changed.")},
      {"storyProved", tr("The largest relative difference between the original's and the folded model's outputs.")},
      {"storyMeasured", tr("Median latency of the original divided by that of the folded model.")}};
  for (int i = 0; i < StorySteps; ++i) {
    if (i > 0) {
      layout->addWidget(new ThemedIcon("chevron_right", &Theme::control, {30, 44}, {9, 16, 12, 12}, this));
    }
    auto* segment = describe(new StorySegment(this), segments[i].first, segments[i].second);
    connect(segment, &QAbstractButton::clicked, this, [this, i] { Q_EMIT stepClicked(i); });
    segment->setAccessibleDescription(segments[i].second);
    segments_[static_cast<size_t>(i)] = segment;
    layout->addWidget(segment);
  }
  layout->addStretch(1);
  button_ = describe(new PushButton({}, PushButton::Look::Filled, this), "nextAction");
  connect(button_, &QPushButton::clicked, this, &StoryBar::nextClicked);
  layout->addWidget(button_);
}

void StoryBar::setStory(const Story& story) {
  for (size_t i = 0; i < StorySteps; ++i) {
    segments_[i]->setStep(story.steps[i]);
    // Behind what is cut off for want of room.
    segments_[i]->setToolTip(segments_[i]->words() + u'\n' + segments_[i]->accessibleDescription());
  }
  next_ = story.next;
  button_->setVisible(story.next != NextAction::None);
  button_->setText(story.nextText);
  button_->setToolTip(story.nextTip);
  button_->setAccessibleDescription(story.nextTip);
  button_->setIconName(story.nextIcon);
  giveRoom();
}

// What the plan does takes the most words: it gives way before the others do.
void StoryBar::giveRoom() {
  StorySegment* plan = segments_[StoryPlan];
  int others = 0;
  for (int i = 0; i < layout()->count(); ++i) {
    const QLayoutItem* item = layout()->itemAt(i);
    if (item->widget() != plan && !item->isEmpty()) others += item->sizeHint().width();
  }
  const QMargins margins = layout()->contentsMargins();
  const int room = width() - margins.left() - margins.right() - others;
  plan->setMaximumWidth(qMax(plan->minimumSizeHint().width(), room));
}

void StoryBar::resizeEvent(QResizeEvent* event) {
  QFrame::resizeEvent(event);
  giveRoom();
}

}  // namespace normlens::ui
