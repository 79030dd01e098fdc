#include "tests/bench/view/frame_bench.h"

#include <QApplication>
#include <QElapsedTimer>
#include <QImage>
#include <QMouseEvent>
#include <QWheelEvent>
#include <algorithm>
#include <cstdio>
#include <vector>

#include "tests/bench/view/memory.h"
#include "tests/support/wait_for_layout.h"
#include "ui/graphview/graph_view.h"

namespace normlens::bench {
namespace {

using graphview::GraphView;

constexpr QSize kSize(1920, 1080);
constexpr int kSteps = 300;
constexpr int kPatienceMs = 300'000;

// Sends events to the view and times each until its picture is there.
class Driver {
 public:
  explicit Driver(GraphView& view) : view_(view), picture_(kSize, QImage::Format_RGB32), before_(picture_) {
    view_.render(&picture_);
  }

  template <class Event>
  void step(Event&& event) {
    before_.swap(picture_);
    QElapsedTimer timer;
    timer.start();
    QApplication::sendEvent(&view_, &event);
    view_.render(&picture_);
    times_.push_back(static_cast<double>(timer.nsecsElapsed()) / 1e6);
    unchanged_ += before_ == picture_;
  }

  // Prints and forgets the times.
  bool report(const char* name) {
    std::sort(times_.begin(), times_.end());
    const size_t count = times_.size();
    std::printf("  %-34s median %6.2f ms   p99 %6.2f ms   worst %6.2f ms\n", name, times_[count / 2],
                times_[count * 99 / 100], times_.back());
    times_.clear();
    if (unchanged_ > 0) std::printf("  FAILED: %d steps left the picture as it was\n", unchanged_);
    return unchanged_ == 0;
  }

 private:
  GraphView& view_;
  QImage picture_, before_;
  std::vector<double> times_;
  int unchanged_ = 0;
};

// In from the whole graph to single ops and out again.
bool wheelSteps(GraphView& view, Driver& driver, const char* name) {
  constexpr double kClosest = 2.0;
  view.fit();
  const double farthest = view.zoom();
  int delta = 40;
  for (int i = 0; i < kSteps; ++i) {
    if (view.zoom() >= kClosest) delta = -40;
    if (view.zoom() <= farthest * 1.01) delta = 40;
    const QPointF at(760 + i, 540 + i % 7);
    driver.step(
        QWheelEvent(at, view.mapToGlobal(at), {}, {0, delta}, Qt::NoButton, Qt::NoModifier, Qt::NoScrollPhase, false));
  }
  return driver.report(name);
}

bool dragSteps(GraphView& view, Driver& driver, double zoom, const char* name) {
  view.fit();
  if (zoom > 0) view.setZoom(zoom);
  QPointF at(960, 540);
  const auto mouse = [&](QEvent::Type type, Qt::MouseButtons held) {
    return QMouseEvent(type, at, view.mapToGlobal(at), type == QEvent::MouseMove ? Qt::NoButton : Qt::LeftButton, held,
                       Qt::NoModifier);
  };
  QMouseEvent press = mouse(QEvent::MouseButtonPress, Qt::LeftButton);
  QApplication::sendEvent(&view, &press);
  at += QPointF(40, 0);  // past the distance at which a press becomes a drag
  QMouseEvent first = mouse(QEvent::MouseMove, Qt::LeftButton);
  QApplication::sendEvent(&view, &first);
  for (int i = 0; i < kSteps; ++i) {
    // A slow circle: it stays over the graph.
    at += (i / 75) % 4 == 0   ? QPointF(3, 5)
          : (i / 75) % 4 == 1 ? QPointF(-3, 5)
          : (i / 75) % 4 == 2 ? QPointF(-3, -5)
                              : QPointF(3, -5);
    driver.step(mouse(QEvent::MouseMove, Qt::LeftButton));
  }
  QMouseEvent release = mouse(QEvent::MouseButtonRelease, Qt::NoButton);
  QApplication::sendEvent(&view, &release);
  return driver.report(name);
}

// How many boxes are in sight, those of groups included.
int boxesInSight(const GraphView& view) {
  std::vector<int> found;
  view.scene().boxIndex.query(view.camera().toWorld(QRectF(QPointF(0, 0), kSize)), found);
  return static_cast<int>(found.size());
}

bool openAll(GraphView& view, const FrameCase& what) {
  view.setAnimated(false);
  view.resize(kSize);
  QElapsedTimer timer;
  timer.start();
  view.setDocument(what.document);
  view.show();
  if (!test::waitForLayout(view, kPatienceMs)) return false;
  view.grab();
  const qint64 first = timer.restart();
  view.expandAll();
  if (!test::waitForLayout(view, kPatienceMs)) return false;
  std::printf("%s: %zu nodes, first picture of the closed graph %lld ms, everything open %lld ms (%zu boxes)\n",
              what.name, what.document->nodes.size(), static_cast<long long>(first),
              static_cast<long long>(timer.elapsed()), view.scene().layout->boxes.size());
  return true;
}

}  // namespace

bool benchFrames(const FrameCase& what) {
  GraphView view;
  if (!openAll(view, what)) return false;
  view.fit();
  std::printf("  %d boxes in sight when all is, at zoom %.2f; software rendering, 1920x1080\n", boxesInSight(view),
              view.zoom());
  Driver driver(view);
  bool changed = wheelSteps(view, driver, "300 wheel steps, all to zoom 2");
  changed = dragSteps(view, driver, 0, "300 drag steps, all in sight") && changed;
  changed = dragSteps(view, driver, 0.55, "300 drag steps, zoom 0.55") && changed;
  changed = dragSteps(view, driver, 1, "300 drag steps, zoom 1") && changed;
  std::printf("  resident memory %.0f MB\n", residentMegabytes(QCoreApplication::applicationPid()));
  return changed;
}

}  // namespace normlens::bench
