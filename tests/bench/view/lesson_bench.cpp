#include "tests/bench/view/lesson_bench.h"

#include <QComboBox>
#include <QDeadlineTimer>
#include <QLabel>
#include <QMouseEvent>
#include <QSlider>
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <map>

#include "tests/bench/view/frame_clock.h"
#include "ui/client/engine_command.h"
#include "ui/learn/figure.h"
#include "ui/session/session.h"
#include "ui/theme/theme.h"
#include "ui/window/actions.h"
#include "ui/window/learn/lessons_page.h"
#include "ui/window/main_window.h"

namespace normlens::bench {
namespace {

constexpr QSize kSize(1440, 900);
constexpr int kPatienceMs = 120'000, kPlayMs = 2500, kFrameMs = 500;
constexpr int kSteps = 120;          // of a drag, a slider, a film
constexpr QSize kPicture(160, 100);  // at least

using Costs = std::vector<FrameCost>;

template <class Done>
bool waitFor(Done&& done, int ms) {
  const QDeadlineTimer end(ms);
  while (!done()) {
    if (end.hasExpired()) return false;
    QCoreApplication::processEvents(QEventLoop::AllEvents | QEventLoop::WaitForMoreEvents, 10);
  }
  return true;
}

// Until the frame is there that the last change asks for.
void waitForFrame(const FrameClock& clock) {
  const size_t before = clock.frames();
  waitFor([&] { return clock.frames() > before; }, kFrameMs);
}

void play(ui::Figure& figure) {
  if (!figure.togglePlay()) return;
  waitFor([] { return false; }, kPlayMs);
  figure.showTime(0);  // and stops
}

void setTimes(FrameClock& clock, ui::Figure& figure) {
  const ui::Film film = figure.film();
  if (film.length == 0) return;
  const int frames = std::min(kSteps, film.frames());
  for (int i = 0; i < frames; ++i) {
    figure.showTime(i * film.frame);
    waitForFrame(clock);
  }
}

void slide(FrameClock& clock, ui::Figure& figure) {
  for (QSlider* slider : figure.findChildren<QSlider*>()) {
    if (!slider->isVisible() || !slider->isEnabled()) continue;
    for (int i = 0; i <= kSteps; ++i) {
      slider->setValue(slider->minimum() + (slider->maximum() - slider->minimum()) * i / kSteps);
      waitForFrame(clock);
    }
  }
}

// Round its middle, by its own mouse events.
void drag(FrameClock& clock, QWidget& picture) {
  const QPointF middle = QRectF(picture.rect()).center();
  const double reach = std::min(picture.width(), picture.height()) / 4.0;
  const auto send = [&](QEvent::Type type, double turn, Qt::MouseButton button, Qt::MouseButtons held) {
    const QPointF at = middle + QPointF(std::cos(turn), std::sin(turn)) * reach;
    QMouseEvent event(type, at, picture.mapToGlobal(at), button, held, Qt::NoModifier);
    QCoreApplication::sendEvent(&picture, &event);
  };
  send(QEvent::MouseButtonPress, 0, Qt::LeftButton, Qt::LeftButton);
  for (int i = 1; i <= kSteps; ++i) {
    send(QEvent::MouseMove, 6.283 * i / kSteps, Qt::NoButton, Qt::LeftButton);
    waitForFrame(clock);
  }
  send(QEvent::MouseButtonRelease, 0, Qt::LeftButton, Qt::NoButton);
}

// What follows the mouse is what can be dragged.
void dragAll(FrameClock& clock, ui::Figure& figure) {
  for (QWidget* part : figure.findChildren<QWidget*>()) {
    const bool isPicture = part->hasMouseTracking() && part->isVisible() && part->width() >= kPicture.width() &&
                           part->height() >= kPicture.height();
    if (isPicture) drag(clock, *part);
  }
}

double at(Costs& costs, double FrameCost::*cost, double share) {
  std::ranges::sort(costs, {}, cost);
  return costs[static_cast<size_t>(share * static_cast<double>(costs.size() - 1))].*cost;
}

bool report(const QString& figure, const char* what, Costs costs) {
  if (costs.empty()) return true;
  const double median = at(costs, &FrameCost::wall, 0.5), p99 = at(costs, &FrameCost::wall, 0.99);
  const double cpu = at(costs, &FrameCost::cpu, 0.5), cpu99 = at(costs, &FrameCost::cpu, 0.99);
  std::printf("  %-16s %-8s %5zu frames   median %6.2f ms   p99 %6.2f ms   of the thread's CPU %6.2f, %6.2f ms%s\n",
              qPrintable(figure), what, costs.size(), median, p99, cpu, cpu99, cpu99 > 16 ? "   OVER 16" : "");
  return true;
}

}  // namespace

bool benchLessons(FrameClock& clock, const QString& engine, const QString& model) {
  ui::applyTheme(clock, ui::lightTheme());
  ui::MainWindow window(
      {ui::EngineCommand{engine, QStringLiteral("serve")}, ui::ColorScheme::Light, false, false, QString()});
  window.resize(kSize);
  window.show();
  window.openFile(model);
  if (!waitFor([&] { return window.session()->plan().has_value() && !window.session()->busy(); }, kPatienceMs)) {
    std::fputs("The model was not opened.\n", stderr);
    return false;
  }
  window.actions()->lessons->trigger();
  auto* page = window.findChild<ui::LessonsPage*>();
  std::map<QString, std::map<const char*, Costs>> all;
  for (const ui::Lesson& lesson : page->walk()->lessons()) {
    for (const ui::LessonStep& step : lesson.steps) {
      page->walk()->goTo(lesson.name + u'/' + step.name);
      waitFor([&] { return page->figure()->isSettled(); }, kPatienceMs);
      waitFor([] { return false; }, kFrameMs);
      const auto measure = [&](const char* what, auto&& act) {
        (void)clock.take();
        act();
        const Costs costs = clock.take();
        auto& kept = all[step.figure][what];
        kept.insert(kept.end(), costs.begin(), costs.end());
      };
      measure("plays", [&] { play(*page->figure()); });
      measure("is set", [&] { setTimes(clock, *page->figure()); });
      measure("slides", [&] { slide(clock, *page->figure()); });
      measure("drags", [&] { dragAll(clock, *page->figure()); });
    }
  }
  double load = 0;
  (void)getloadavg(&load, 1);
  std::printf("Frames of the lessons' figures, 1440x900, software drawing; other work on this machine: load %.1f\n",
              load);
  bool drawn = true;
  for (auto& [figure, ways] : all) {
    size_t frames = 0;
    for (auto& [what, costs] : ways) {
      frames += costs.size();
      report(figure, what, costs);
    }
    if (frames == 0) std::printf("  FAILED: %s drew no frame\n", qPrintable(figure));
    drawn = drawn && frames > 0;
  }
  return drawn;
}

}  // namespace normlens::bench
