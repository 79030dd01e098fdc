#include "tests/bench/view/frame_clock.h"

#include <QEvent>
#include <chrono>
#include <ctime>
#include <utility>

namespace normlens::bench {
namespace {

double wallMs() {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

double cpuMs() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) / 1e6;
}

}  // namespace

bool FrameClock::notify(QObject* receiver, QEvent* event) {
  if (event->type() == QEvent::UpdateRequest) painted_ = true;
  if (depth_ > 0) return QApplication::notify(receiver, event);
  const double wall = wallMs(), cpu = cpuMs();
  ++depth_;
  const bool handled = QApplication::notify(receiver, event);
  --depth_;
  since_.wall += wallMs() - wall;
  since_.cpu += cpuMs() - cpu;
  if (std::exchange(painted_, false)) frames_.push_back(std::exchange(since_, {}));
  return handled;
}

std::vector<FrameCost> FrameClock::take() {
  since_ = {};
  return std::exchange(frames_, {});
}

}  // namespace normlens::bench
