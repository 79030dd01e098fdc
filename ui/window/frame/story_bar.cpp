#include "ui/window/frame/story_bar.h"

#include <QMenu>
#include <QPushButton>

#include "ui/theme/theme.h"
#include "ui/widgets/follow_text.h"
#include "ui/widgets/icon_button.h"
#include "ui/widgets/push_button.h"
#include "ui/widgets/room_steps.h"
#include "ui/window/parts.h"

namespace normlens::ui {

namespace {

constexpr int kArrow = 30, kNarrowArrow = 18;

}  // namespace

StoryBar::StoryBar(QWidget* parent) : QFrame(parent) {
  describe(this, "storyBar", {}, tr("Progress of the work"));
  auto* layout = makeRow(this, 0, {8, 4, 12, 4});
  // Ordered as StoryIndex.
  const std::pair<const char*, QString> segments[StorySteps] = {
      {"storyModel", tr("The opened file. Click to see its inputs, and to set or load your own.")},
      {"storyFoldable", tr("How many LayerNorms can become RMSNorms without changing an output.")},
      {"storyPlan", tr("The edits to make. The opened file never changes.")},
      {"storyProved", tr("The largest relative difference between the outputs of the original and the folded model.")},
      {"storyMeasured", tr("Median time of the original divided by that of the folded model.")}};
  for (int i = 0; i < StorySteps; ++i) {
    if (i > 0) {
      arrows_[static_cast<size_t>(i)] =
          new ThemedIcon("chevron_right", &Theme::control, {kArrow, 44}, {9, 16, 12, 12}, this);
      layout->addWidget(arrows_[static_cast<size_t>(i)]);
    }
    auto* segment = describe(new StorySegment(this), segments[i].first, segments[i].second);
    connect(segment, &QAbstractButton::clicked, this, [this, i] { Q_EMIT stepClicked(i); });
    segment->setAccessibleDescription(segments[i].second);
    segments_[static_cast<size_t>(i)] = segment;
    layout->addWidget(segment);
    if (i == StoryFoldable) addConfirm();
  }
  addOverflow();
  layout->addStretch(1);
  layout->addSpacing(8);
  button_ = describe(new PushButton({}, PushButton::Look::Filled, this), "nextAction");
  connect(button_, &QPushButton::clicked, this, &StoryBar::nextClicked);
  layout->addWidget(button_);
}

// The verdicts can be confirmed in two ways, which the button offers.
void StoryBar::addConfirm() {
  confirm_ = describe(makeButton(tr("Not confirmed"), "menu", this), "storyConfirm",
                      tr("The verdicts follow from inferred shapes. No run of the model has confirmed them yet."));
  auto* menu = describe(new QMenu(tr("Not confirmed"), confirm_), "storyConfirmMenu");
  connect(menu->addAction(tr("Run the model to confirm")), &QAction::triggered, this, &StoryBar::confirmClicked);
  connect(menu->addAction(tr("Change the inputs first…")), &QAction::triggered, this,
          [this] { Q_EMIT stepClicked(StoryModel); });
  confirm_->setMenu(menu);
  confirm_->hide();
  layout()->addWidget(confirm_);
}

// First all steps say less; in a very narrow window the model gives way, then what was measured and proved.
void StoryBar::addOverflow() {
  more_ =
      describe(new IconButton(QStringLiteral("more"), {}, tr("The steps that do not fit here."), this), "storyMore");
  more_->setMenu(new QMenu(more_));
  more_->setPopupMode(QToolButton::InstantPopup);
  more_->hide();
  layout()->addWidget(more_);
  room_ = new RoomSteps(this);
  segments_[StoryPlan]->setWraps(true);
  room_->add([this](bool taken) { segments_[StoryPlan]->setBrief(taken); });
  room_->add([this](bool taken) {
    for (int i = 0; i < StorySteps; ++i) segments_[static_cast<size_t>(i)]->setWraps(taken || i == StoryPlan);
  });
  room_->add([this](bool taken) {
    for (QWidget* arrow : arrows_) {
      if (arrow != nullptr) arrow->setFixedWidth(taken ? kNarrowArrow : kArrow);
    }
  });
  for (const int times : {1, 2}) {
    room_->add([this, times](bool taken) { segments_[StoryPlan]->setShort(taken ? times : times - 1); });
  }
  for (const int index : {StoryMeasured, StoryModel}) {
    room_->add([this, index](bool taken) { segments_[static_cast<size_t>(index)]->setShort(taken ? 1 : 0); });
  }
  room_->add([this](bool taken) {
    confirmHidden_ = taken;
    showConfirm();
  });
  for (const int index : {StoryModel, StoryMeasured, StoryProved}) {
    room_->add([this, index](bool taken) { showOverflow(index, taken); });
  }
}

void StoryBar::showOverflow(int index, bool taken) {
  const auto at = static_cast<size_t>(index);
  segments_[at]->setVisible(!taken);
  if (QWidget* arrow = arrows_[index > 0 ? at : 1]) arrow->setVisible(!taken);
  fillOverflow();
}

void StoryBar::fillOverflow() {
  more_->menu()->clear();
  if (unconfirmed_ && confirmHidden_) more_->menu()->addMenu(confirm_->menu());
  for (int i = 0; i < StorySteps; ++i) {
    const StorySegment* segment = segments_[static_cast<size_t>(i)];
    if (!segment->isHidden()) continue;
    connect(more_->menu()->addAction(segment->accessibleName()), &QAction::triggered, this,
            [this, i] { Q_EMIT stepClicked(i); });
  }
  more_->setVisible(!more_->menu()->isEmpty());
}

void StoryBar::showConfirm() {
  confirm_->setVisible(unconfirmed_ && !confirmHidden_);
  fillOverflow();
}

void StoryBar::setStory(const Story& story) {
  for (size_t i = 0; i < StorySteps; ++i) {
    segments_[i]->setStep(story.steps[i]);
    // The tooltip repeats the words, as some are cut off for want of room, and adds the reason.
    const QString& why = story.steps[i].why;
    segments_[i]->setToolTip(segments_[i]->words() + u'\n' +
                             (why.isEmpty() ? segments_[i]->accessibleDescription() : why));
  }
  unconfirmed_ = story.unconfirmed;
  showConfirm();
  next_ = story.next;
  button_->setVisible(story.next != NextAction::None);
  button_->setText(story.nextText);
  button_->setToolTip(story.nextTip);
  button_->setAccessibleDescription(story.nextTip);
  button_->setIconName(story.nextIcon);
  room_->fit();
}

}  // namespace normlens::ui
