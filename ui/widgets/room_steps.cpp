#include "ui/widgets/room_steps.h"

#include <QEvent>
#include <QLayout>

namespace normlens::ui {

RoomSteps::RoomSteps(QWidget* bar) : QObject(bar), bar_(bar) {
  bar->setSizePolicy(QSizePolicy::Ignored, bar->sizePolicy().verticalPolicy());
  bar->installEventFilter(this);
}

void RoomSteps::add(const std::function<void(bool taken)>& step) { steps_.push_back(step); }

void RoomSteps::clear() {
  steps_.clear();
  taken_ = 0;
}

int RoomSteps::need() const { return bar_->layout()->totalMinimumSize().width(); }

void RoomSteps::take(size_t count) {
  while (taken_ < count) steps_[taken_++](true);
  while (taken_ > count) steps_[--taken_](false);
}

void RoomSteps::fit() {
  if (fitting_) return;
  fitting_ = true;
  take(0);
  const auto fits = [this] {
    bar_->layout()->activate();  // Layouts within it keep the sizes from before until then.
    return need() <= bar_->width();
  };
  while (!fits() && taken_ < steps_.size()) take(taken_ + 1);
  settled_ = {bar_->width(), need()};
  fitting_ = false;
}

bool RoomSteps::eventFilter(QObject* watched, QEvent* event) {
  const bool asks = event->type() == QEvent::Resize || event->type() == QEvent::LayoutRequest;
  // Taking steps requests a new layout in turn, of the same width.
  if (asks && settled_ != QSize(bar_->width(), need())) fit();
  return QObject::eventFilter(watched, event);
}

}  // namespace normlens::ui
