// Scenes of the lessons, by their own data.
#include <QtTest>

#include "tests/ui/screens/scenes.h"
#include "tests/ui/shell/presented.h"
#include "ui/learn/figure.h"
#include "ui/window/learn/lessons_page.h"

namespace normlens::screens {
namespace {

constexpr QSize kRoom(1280, 720);  // the least that is presented on
constexpr int kReplyMs = 150;      // for what a figure asks the engine

// As it is once what moves has arrived; a film in its middle.
void settle(ui::Figure& figure, const ui::LessonStep& step) {
  figure.showState(step.state, ui::Motion::Cut);
  QTest::qWait(kReplyMs);
  if (const ui::Film film = figure.film(); film.length > 0) figure.showTime(film.length / 2);
  (void)waitFor([&] { return figure.isSettled(); });
}

ui::LessonsPage& goTo(Stage& stage, const QString& link) {
  open(stage, stage.model);
  trigger(stage, "lessons");
  auto* page = stage.window.findChild<ui::LessonsPage*>();
  page->walk()->goTo(link);
  return *page;
}

void read(Stage& stage, const QString& link) {
  ui::LessonsPage& page = goTo(stage, link);
  settle(*page.figure(), page.walk()->current());
}

void present(Stage& stage, const QString& link) {
  ui::LessonsPage& page = goTo(stage, link);
  page.present();
  ui::Presenter* room = test::presenter();
  room->showNormal();
  room->setGeometry(QRect(QPoint(), kRoom));
  settle(*room->figure(), page.walk()->current());
  stage.picture = room;
}

}  // namespace

QVector<Scene> lessonScenes() {
  QVector<Scene> scenes;
  for (const ui::Lesson& lesson : ui::bundledLessons()) {
    for (const ui::LessonStep& step : lesson.steps) {
      const QString link = lesson.name + u'/' + step.name, name = lesson.name + u'_' + step.name;
      scenes << Scene{QStringLiteral("lesson_") + name, [link](Stage& stage) { read(stage, link); }, {}}
             << Scene{QStringLiteral("present_") + name, [link](Stage& stage) { present(stage, link); }, {}, false};
    }
  }
  return scenes;
}

}  // namespace normlens::screens
