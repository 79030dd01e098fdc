// The workflow at a glance: Model › Can be done › The plan does › Proved › Measured, and the one filled button. Steps
// for which there is no room are in a menu at their end.
#pragma once

#include <QFrame>
#include <array>

#include "ui/window/frame/story.h"

class QPushButton;

namespace normlens::ui {

class IconButton;
class PushButton;
class RoomSteps;

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
  void confirmClicked();

 private:
  void addConfirm();
  void showConfirm();
  void fillOverflow();
  void addOverflow();
  void showOverflow(int index, bool taken);

  std::array<StorySegment*, StorySteps> segments_{};
  std::array<QWidget*, StorySteps> arrows_{};  // before each segment but the first
  QPushButton* confirm_ = nullptr;             // after the verdicts
  IconButton* more_;
  PushButton* button_;
  RoomSteps* room_;
  bool unconfirmed_ = false, confirmHidden_ = false;  // the second: for want of room
  NextAction next_ = NextAction::None;
};

}  // namespace normlens::ui
