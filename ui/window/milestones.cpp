#include "ui/window/milestones.h"

#include <QEvent>
#include <QMetaObject>
#include <cstdio>

#include "ui/graphview/graph_view.h"
#include "ui/session/session.h"
#include "ui/window/main_window.h"
#include "ui/window/workspace/graph_pane.h"
#include "ui/window/workspace/workspace.h"

namespace normlens::ui {

Milestones::Milestones(MainWindow* window, const QElapsedTimer& since) : window_(window), since_(since) {
  window_->installEventFilter(this);
  window_->workspace()->graph()->view()->installEventFilter(this);
}

bool Milestones::eventFilter(QObject* watched, QEvent* event) {
  if (event->type() == QEvent::Paint && !telling_ && reached()) {
    telling_ = true;
    // print() runs after this paint, and the flush to the screen that follows it.
    QMetaObject::invokeMethod(this, &Milestones::print, Qt::QueuedConnection);
  }
  return QObject::eventFilter(watched, event);
}

bool Milestones::reached() const {
  switch (next_) {
    case Window:
      return true;
    case Graph:
      return !window_->workspace()->graph()->view()->scene().empty();
    case Analysis:
      return window_->session()->analysis().has_value();
    default:
      return false;
  }
}

void Milestones::print() {
  constexpr const char* kNames[] = {"window", "graph", "analysis"};
  std::fprintf(stderr, "normlens: %s %lld ms\n", kNames[next_], static_cast<long long>(since_.elapsed()));
  std::fflush(stderr);
  ++next_;
  telling_ = false;
}

}  // namespace normlens::ui
