// The workflow at a glance: Model › Can be done › The plan does › Proved › Measured, and the one filled button.
#pragma once

#include <QFrame>
#include <array>

#include "ui/window/frame/story.h"

namespace normlens::ui {

class PushButton;

class StoryBar final : public QFrame {
  Q_OBJECT

 public:
  explicit StoryBar(QWidget* parent = nullptr);

  void setStory(const Story& story);
  [[nodiscard]] NextAction nextAction() const { return next_; }
  [[nodiscard]] StorySegment* segment(int index) const { return segments_[static_cast<size_t>(index)]; }

 Q_SIGNALS:
  void stepClicked(int index);
  void nextClicked();

 protected:
  void resizeEvent(QResizeEvent* event) override;

 private:
  void giveRoom();

  std::array<StorySegment*, StorySteps> segments_{};
  PushButton* button_;
  NextAction next_ = NextAction::None;
};

}  // namespace normlens::ui
