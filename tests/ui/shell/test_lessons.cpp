// The lessons as a reader goes through them: by keys and buttons, with the figure's sliders, and for a room; and their
// figures as files.
#include <QAction>
#include <QCheckBox>
#include <QComboBox>
#include <QDir>
#include <QFontInfo>
#include <QImage>
#include <QLabel>
#include <QLineEdit>
#include <QListWidget>
#include <QMenu>
#include <QPainter>
#include <QRegularExpression>
#include <QSettings>
#include <QSignalSpy>
#include <QSlider>
#include <QTemporaryDir>
#include <QTextBrowser>
#include <numeric>

#include "tests/ui/shell/presented.h"
#include "tests/ui/shell/shown_window.h"
#include "ui/learn/figure.h"
#include "ui/widgets/info_bar.h"
#include "ui/window/actions.h"
#include "ui/window/bottom/bottom_panel.h"
#include "ui/window/bottom/learn_page.h"
#include "ui/window/learn/figure_export.h"
#include "ui/window/learn/lessons_page.h"
#include "ui/window/workspace/workspace.h"

namespace normlens::ui {
namespace {

struct Reading : Shown {
  explicit Reading(bool remember = false) : Shown({}, remember) {
    window.actions()->lessons->trigger();
    page = window.findChild<LessonsPage*>();
  }
  void key(Qt::Key which, Qt::KeyboardModifiers with = {}) const { QTest::keyClick(page, which, with); }

  LessonsPage* page;
};

// To its end, as a key on it would.
void slide(QSlider* slider, Qt::Key key, int times) {
  for (int i = 0; i < times; ++i) QTest::keyClick(slider, key);
}

// The lessons, on a model that is open.
struct Exporting : Shown {
  explicit Exporting(const QString& model) : Shown(model) {
    window.actions()->lessons->trigger();
    page = window.findChild<LessonsPage*>();
    saved = page->findChild<FigureExport*>();
  }
  void goTo(const QString& link) const {
    page->walk()->goTo(link);
    QTRY_VERIFY(page->figure()->isSettled());
  }

  LessonsPage* page;
  FigureExport* saved;
};

// Counts the colours along its lines, up to some.
int coloursOf(const QImage& image) {
  QSet<QRgb> found;
  for (int y = 0; y < image.height(); y += 7) {
    for (int x = 0; x < image.width() && found.size() < 50; ++x) found.insert(image.pixel(x, y));
  }
  return static_cast<int>(found.size());
}

QImage pictureOf(Figure& figure) {
  QCoreApplication::sendPostedEvents(nullptr, QEvent::LayoutRequest);
  QImage image(figure.pictureSize(), QImage::Format_RGB32);
  image.fill(Qt::white);
  QPainter painter(&image);
  figure.paintPicture(painter);
  return image;
}

}  // namespace

class LessonsTest final : public test::ModelTest {
  Q_OBJECT

 private Q_SLOTS:
  // With unequal γ, or β, an output has a mean again, and is not on the circle.
  void captionsAreTrueAfterGammaAndBeta() {
    Reading reading;
    reading.page->walk()->goTo(QStringLiteral("projection/affine"));
    const auto says = [&](const QString& words) {
      return std::ranges::any_of(reading.page->figure()->findChildren<QLabel*>(),
                                 [&](const QLabel* label) { return label->text().contains(words); });
    };
    QTRY_VERIFY(says(QStringLiteral("then γ and β")));
    QVERIFY(!says(QStringLiteral("is removed")) && !says(QStringLiteral("the mean is gone")));
    reading.child<QCheckBox>("affine")->click();
    QVERIFY(!says(QStringLiteral("then γ and β")));
  }

  void everyStepIsReachedAndLeft() {
    Reading reading;
    QVERIFY(reading.page != nullptr && reading.page->isVisible());
    QVERIFY(!reading.child<QWidget>("toolBar")->isVisible() && !reading.child<QWidget>("storyBar")->isVisible());
    LessonWalk* walk = reading.page->walk();
    QStringList titles;
    for (bool more = true; more; more = walk->next() != nullptr) {
      if (!titles.isEmpty()) reading.key(Qt::Key_Right);
      titles << reading.child<QLabel>("lessonTitle")->text();
      QVERIFY(reading.page->figure() != nullptr && !reading.page->figure()->accessibleName().isEmpty());
      QVERIFY(!reading.child<QTextBrowser>("lessonText")->toPlainText().isEmpty());
      if (titles.size() > 200) break;
    }
    int steps = 0;
    for (const Lesson& lesson : walk->lessons()) steps += static_cast<int>(lesson.steps.size());
    QCOMPARE(static_cast<int>(titles.size()), steps);
    QCOMPARE(titles.removeDuplicates(), 0);
    QVERIFY(!reading.child<QAbstractButton>("lessonNext")->isEnabled());
    for (int i = 1; i < steps; ++i) reading.click("lessonPrevious");
    QCOMPARE(reading.child<QLabel>("lessonTitle")->text(), titles.first());
    reading.key(Qt::Key_Escape);
    QVERIFY(!reading.page->isVisible() && reading.child<QWidget>("toolBar")->isVisible());
  }

  void theExerciseIsPassedWithTheFigureOnly() {
    QSettings().remove(QStringLiteral("learn/passed"));  // the one case that keeps it
    Reading reading(true);
    reading.page->walk()->goTo(QStringLiteral("projection/lost"));
    const auto* told = reading.child<QLabel>("tryTold");
    reading.click("tryCheck");
    QVERIFY(told->isVisible() && told->property("kind").toString() == QStringLiteral("error"));
    QVERIFY(!reading.page->walk()->isPassed(0));
    const QString before = reading.child<QLabel>("tryLive")->text();
    slide(reading.child<QSlider>("meanSlider"), Qt::Key_Left, 12);  // 1.2 to 0
    QVERIFY(reading.child<QLabel>("tryLive")->text() != before);
    reading.key(Qt::Key_Return);
    QCOMPARE(told->property("kind").toString(), QStringLiteral("passed"));
    QVERIFY(reading.page->walk()->isPassed(0));
    Reading again(true);
    QVERIFY(again.page->walk()->isPassed(0));  // another day
  }

  void theScaleAloneChangesNothing() {
    Reading reading;
    reading.page->walk()->goTo(QStringLiteral("projection/lost"));
    Figure* figure = reading.page->figure();
    QTRY_VERIFY(std::abs(*figure->number(QStringLiteral("mean")) - 1.2) < 1e-6);
    const double difference = *figure->number(QStringLiteral("difference"));
    slide(reading.child<QSlider>("scaleSlider"), Qt::Key_Right, 5);
    QVERIFY(*figure->number(QStringLiteral("mean")) > 1.5);
    QVERIFY(std::abs(*figure->number(QStringLiteral("difference")) - difference) < 1e-9);
    QVERIFY(*figure->number(QStringLiteral("layerNormMoved")) < 1e-9);
    QVERIFY(*figure->number(QStringLiteral("rmsNormMoved")) > 1);
    reading.key(Qt::Key_R);
    QTRY_VERIFY(std::abs(*figure->number(QStringLiteral("mean")) - 1.2) < 1e-6);
  }

  // Paper 002, equations 10 and 11.
  void batchNormGivesItsInputsBack() {
    Reading reading;
    reading.page->walk()->goTo(QStringLiteral("projection/batch"));
    Figure* figure = reading.page->figure();
    QTRY_VERIFY(std::abs(*figure->number(QStringLiteral("mean")) - 1.2) < 1e-6);
    QVERIFY(*figure->number(QStringLiteral("notGivenBack")) < 1e-9);
    QVERIFY(*figure->number(QStringLiteral("batchNormMoved")) > 1);
    QVERIFY(*figure->number(QStringLiteral("layerNormMoved")) < 1e-9);
    reading.child<QCheckBox>("affine")->click();
    QVERIFY(*figure->number(QStringLiteral("notGivenBack")) > 1);
  }

  // A figure that has nothing yet passes nobody, whatever is typed.
  void nothingIsPassedWithoutANumber() {
    Reading reading;
    reading.page->walk()->goTo(QStringLiteral("zero_mean_graph/backward"));
    QVERIFY(!reading.page->figure()->number(QStringLiteral("setSize")));
    auto* answer = reading.child<QLineEdit>("tryAnswer");
    answer->setFocus();
    QTest::keyClicks(answer, QStringLiteral("0"));
    reading.click("tryCheck");
    const LessonWalk* walk = reading.page->walk();
    QVERIFY(!walk->isPassed(walk->lesson(), walk->step()));
    QCOMPARE(reading.child<QLabel>("tryTold")->property("kind").toString(), QStringLiteral("error"));
  }

  void aRoomSeesTheSameWalk() {
    Reading reading;
    reading.page->walk()->goTo(QStringLiteral("projection/mean"));
    reading.key(Qt::Key_F5);
    Presenter* presenter = test::presenter();
    QVERIFY(presenter != nullptr);
    QVERIFY(QTest::qWaitForWindowExposed(presenter));
    const auto* title = presenter->findChild<QLabel*>(QStringLiteral("presentedTitle"));
    for (const Qt::Key on : {Qt::Key_Right, Qt::Key_Space, Qt::Key_PageDown}) {
      const QString before = title->text();
      QTest::keyClick(presenter, on);
      QVERIFY(title->text() != before);
      QCOMPARE(title->text(), reading.page->walk()->current().present);
    }
    QTest::keyClick(presenter, Qt::Key_PageUp);
    QCOMPARE(reading.page->walk()->step(), 2);
    QTest::keyClick(presenter, Qt::Key_5);
    QCOMPARE(reading.page->walk()->step(), 4);
    QTest::keyClick(presenter, Qt::Key_B);
    QVERIFY(!title->isVisible());
    QTest::keyClick(presenter, Qt::Key_B);
    QVERIFY(title->isVisible() && presenter->figure()->isVisible());
    QTest::keyClick(presenter, Qt::Key_Escape);
    QTRY_VERIFY(test::presenter() == nullptr);
    QCOMPARE(reading.page->walk()->step(), 4);
  }

  // On two models, at the desk and in the room beside it.
  void everyLessonIsWalkedToItsEnd_data() {
    QTest::addColumn<QString>("model");
    for (const char* model : {"gpt2.pt", "bert.pt"}) QTest::newRow(model) << QString::fromLatin1(model);
  }
  void everyLessonIsWalkedToItsEnd() {
    QFETCH(QString, model);
    Reading reading;
    reading.openAndAnalyse(test::modelFile(folder_, model));
    reading.window.actions()->lessons->trigger();
    reading.key(Qt::Key_F5);
    Presenter* presenter = test::presenter();
    QVERIFY(QTest::qWaitForWindowExposed(presenter));
    presenter->showNormal();
    presenter->resize(1280, 720);
    LessonWalk* walk = reading.page->walk();
    int steps = 1;
    for (;; ++steps) {
      QTRY_VERIFY(presenter->figure()->isSettled() && reading.page->figure()->isSettled());
      const QByteArray where = (walk->currentLesson().name + u'/' + walk->current().name).toUtf8();
      QVERIFY2(presenter->figure()->accessibleName().size() > 5, where.constData());
      QVERIFY2(reading.page->figure()->isVisible() && presenter->figure()->isVisible(), where.constData());
      for (const QLabel* label : presenter->findChildren<QLabel*>()) {
        if (!label->isVisible() || label->text().isEmpty()) continue;
        QVERIFY2(QFontInfo(label->font()).pixelSize() >= 18, qPrintable(where + ": " + label->text()));
      }
      if (walk->next() == nullptr) break;
      QTest::keyClick(presenter, Qt::Key_Right);
    }
    QCOMPARE(steps, std::accumulate(walk->lessons().begin(), walk->lessons().end(), 0, [](int sum, const Lesson& each) {
               return sum + static_cast<int>(each.steps.size());
             }));
  }

  void theRoomHasADotAndBothThemes() {
    Reading reading;
    reading.key(Qt::Key_F5);
    Presenter* presenter = test::presenter();
    QVERIFY(QTest::qWaitForWindowExposed(presenter));
    const auto* dot = presenter->findChild<QWidget*>(QStringLiteral("laser"));
    QVERIFY(!dot->isVisible());
    QTest::keyClick(presenter, Qt::Key_L);
    QVERIFY(dot->isVisible());
    QWidget* figure = presenter->figure();
    const QPointF at(120, 90);
    QMouseEvent move(QEvent::MouseMove, at, figure->mapToGlobal(at), Qt::NoButton, Qt::NoButton, Qt::NoModifier);
    QApplication::sendEvent(figure, &move);  // which takes it for itself
    QCOMPARE(dot->geometry().center(), figure->mapTo(presenter, at.toPoint()));
    QTest::keyClick(presenter, Qt::Key_L);
    QVERIFY(!dot->isVisible());
    const bool dark = themeOf(presenter).dark;
    QTest::keyClick(presenter, Qt::Key_T);
    QTRY_COMPARE(themeOf(presenter).dark, !dark);
    QCOMPARE(themeOf(&reading.window).dark, !dark);
    QTest::keyClick(presenter, Qt::Key_T);
    QTRY_COMPARE(themeOf(presenter).dark, dark);
  }

  void everyPageOfWordsLeadsOnToALesson() {
    Shown shown(test::modelFile(folder_, QStringLiteral("gpt2.pt")));
    auto* learn = shown.window.findChild<LearnPage*>();
    auto* words = learn->findChild<QTextBrowser*>();
    auto* titles = learn->findChild<QListWidget*>(QStringLiteral("lessons"));
    const QRegularExpression link(QStringLiteral("\"lesson:([a-z0-9_/]+)\""));
    QVERIFY(titles->count() > 5);
    for (int row = 0; row < titles->count(); ++row) {
      titles->setCurrentRow(row);
      const QString title = titles->item(row)->text();
      auto found = link.globalMatch(words->document()->toHtml());
      QVERIFY2(found.hasNext(), qPrintable(title));
      while (found.hasNext()) {
        const QString target = found.next().captured(1);
        Q_EMIT words->anchorClicked(QUrl(QStringLiteral("lesson:") + target));
        auto* page = shown.window.findChild<LessonsPage*>();
        QVERIFY(page != nullptr && page->isVisible());
        QVERIFY2(page->walk()->has(target), qPrintable(title + u' ' + target));
        QCOMPARE(page->walk()->currentLesson().name + u'/' + page->walk()->current().name, target);
      }
    }
    const auto* page = shown.window.findChild<LessonsPage*>();
    QVERIFY(!page->walk()->has(QStringLiteral("projection/none")) && !page->walk()->has(QStringLiteral("none")));
  }

  void aLinkBringsItsNormAlong() {
    Shown shown(test::modelFile(folder_, QStringLiteral("gpt2.pt")));
    shown.window.workspace()->showWords(QStringLiteral("zero_mean_graph"));
    auto* words = shown.window.findChild<LearnPage*>()->findChild<QTextBrowser*>();
    for (const int norm : {2, 0}) {
      shown.session.selection()->selectNorm(norm);
      Q_EMIT words->anchorClicked(QUrl(QStringLiteral("lesson:zero_mean_graph/backward")));
      QCOMPARE(shown.child<QComboBox>("walkNorm")->currentIndex(), norm);
    }
  }

  void theTimesOfBothNormsAreMeasuredOnDemand() {
    Reading reading;
    reading.page->walk()->goTo(QStringLiteral("speed/rms"));
    reading.openAndAnalyse(test::modelFile(folder_, QStringLiteral("gpt2.pt")));
    reading.window.actions()->lessons->trigger();
    const auto* told = reading.child<QLabel>("measuredTimes");
    QVERIFY(!told->text().contains(QStringLiteral("µs")));
    reading.click("measureTimes");
    QTRY_VERIFY(told->text().contains(QStringLiteral("3.4 µs")) && told->text().contains(QStringLiteral("2.1 µs")));
    QVERIFY(told->text().contains(QStringLiteral("d = 64")));
    QVERIFY(!reading.child<QWidget>("measureTimes")->isEnabled());  // once is enough
    reading.key(Qt::Key_Right);
    reading.key(Qt::Key_Left);
    QVERIFY(told->text().contains(QStringLiteral("µs")));
    reading.openAndAnalyse(test::modelFile(folder_, QStringLiteral("bert.pt")));
    QVERIFY(!told->text().contains(QStringLiteral("µs")));  // another model, other norms
  }

  // Paper 001, tables 7 and 8, of the row of 16 numbers.
  void theTicksAreThoseOfTheTables() {
    Reading reading;
    reading.page->walk()->goTo(QStringLiteral("speed/ticks"));
    const Figure* figure = reading.page->figure();
    const auto* table = reading.child<QLabel>("groupedCosts");
    auto* groups = reading.child<QSlider>("groupsSlider");
    QVERIFY(groups->isVisible() && !reading.child<QWidget>("play")->isVisible());
    QVERIFY(table->text().contains(QStringLiteral("196 and 63 ticks: 68% less")));      // 12d + 4g - 12 and 4d - 1
    QCOMPARE(*figure->number(QStringLiteral("savedPercent")), 100 * (1 - 66.0 / 132));  // 4d + 2 and 8d + 4
    slide(groups, Qt::Key_Right, 4);
    QVERIFY(table->text().contains(QStringLiteral("212 and 63 ticks: 70% less")));
    QVERIFY(*figure->number(QStringLiteral("groupsSavedPercent")) > 70);  // the task
    QVERIFY(figure->accessibleName().contains(QStringLiteral("8 groups")));
    QVERIFY(figure->film().length == 0);
    reading.page->walk()->goTo(QStringLiteral("speed/rms"));
    QVERIFY(!table->isVisible() && reading.child<QWidget>("play")->isVisible());
  }

  void theWalkGoesOverTheOpenModel() {
    Reading reading;
    reading.page->walk()->goTo(QStringLiteral("zero_mean_graph/forward"));
    Figure* figure = reading.page->figure();
    QCOMPARE(*figure->number(QStringLiteral("norms")), 0.0);  // none is open
    reading.openAndAnalyse(test::modelFile(folder_, QStringLiteral("gpt2.pt")));
    reading.window.actions()->lessons->trigger();
    const auto norms = static_cast<double>(reading.session.analysis()->norms.size());
    QCOMPARE(*figure->number(QStringLiteral("norms")), norms);
    QTRY_VERIFY(figure->number(QStringLiteral("setSize")).value_or(0) > 0);
    const auto* rule = reading.child<QLabel>("walkRule");
    const QString first = rule->text();
    auto* speed = reading.child<QComboBox>("walkSpeed");
    const double pace = *figure->number(QStringLiteral("pace"));
    speed->setFocus();
    QTest::keyClick(speed, Qt::Key_End);
    QCOMPARE(*figure->number(QStringLiteral("pace")), 4 * pace);
    reading.click("walkStep");
    QVERIFY(rule->text() != first && *figure->number(QStringLiteral("at")) < 1);
    reading.key(Qt::Key_Return);
    QCOMPARE(reading.child<QLabel>("tryTold")->property("kind").toString(), QStringLiteral("error"));
    slide(reading.child<QSlider>("walkSlider"), Qt::Key_Right, 51);
    QCOMPARE(*figure->number(QStringLiteral("at")), 1.0);
    QVERIFY(!reading.child<QLabel>("lessonTitle")->text().isEmpty() && rule->text() != first);
    reading.key(Qt::Key_Return);
    QCOMPARE(reading.child<QLabel>("tryTold")->property("kind").toString(), QStringLiteral("passed"));
  }

  void pageAndRoomBothWalkToTheEnd() {
    Reading reading;
    reading.openAndAnalyse(test::modelFile(folder_, QStringLiteral("gpt2.pt")));
    reading.window.actions()->lessons->trigger();
    reading.page->walk()->goTo(QStringLiteral("zero_mean_graph/states"));
    reading.key(Qt::Key_F5);
    Presenter* presenter = test::presenter();
    QVERIFY(presenter != nullptr);
    reading.page->walk()->goTo(QStringLiteral("zero_mean_graph/exact"));  // both ask for the same graph
    for (const Figure* figure :
         {static_cast<const Figure*>(presenter->figure()), static_cast<const Figure*>(reading.page->figure())})
      QTRY_COMPARE(*figure->number(QStringLiteral("at")), 1.0);
  }

  void theLastStepShowsTheModelsAngles() {
    Reading reading;
    reading.page->walk()->goTo(QStringLiteral("projection/mean"));
    Figure* figure = reading.page->figure();
    QVERIFY(!figure->wantsModel() && !reading.child<QWidget>("angleStrip")->isVisible());
    reading.page->walk()->goTo(QStringLiteral("projection/width"));
    QVERIFY(figure->wantsModel() && reading.child<QWidget>("angleStrip")->isVisible());
    QVERIFY(*figure->number(QStringLiteral("randomSpread")) > 0);
    QTRY_VERIFY(figure->number(QStringLiteral("inputAngle")));  // of the toy
    reading.openAndAnalyse(test::modelFile(folder_, QStringLiteral("gpt2.pt")));
    QVERIFY2(!figure->number(QStringLiteral("inputAngle")), "of another model, and nobody sees it");
    reading.window.actions()->lessons->trigger();
    QTRY_VERIFY(figure->number(QStringLiteral("inputAngle")));
    QCOMPARE(*figure->number(QStringLiteral("outputAngle")), 90.0);
  }

  void narrowPagesGiveWay() {
    Reading reading;
    const int wide = reading.child<QWidget>("lessonList")->width();
    reading.window.resize(1100, 800);
    QTRY_VERIFY(reading.child<QWidget>("lessonList")->width() < wide / 2);
    reading.window.resize(860, 800);
    auto* text = reading.child<QWidget>("lessonColumn");
    QTRY_VERIFY(text->geometry().bottom() <= reading.child<QWidget>("figureArea")->geometry().top());
  }

  void everyKindOfFigureIsSavedAsPictures() {
    Exporting reading(model_);
    QStringList kinds;
    for (const Lesson& lesson : reading.page->walk()->lessons()) {
      for (const LessonStep& step : lesson.steps) {
        if (kinds.contains(step.figure)) continue;
        kinds << step.figure;
        reading.goTo(lesson.name + u'/' + step.name);
        const QString path = folder_.filePath(step.figure);
        QSignalSpy written(reading.saved, &FigureExport::written);
        for (const char* suffix : {".svg", ".pdf", ".png"}) reading.saved->savePicture(path + QLatin1String(suffix));
        QCOMPARE(written.count(), 3);
        const QByteArray svg = test::contentOf(path + QStringLiteral(".svg")),
                         pdf = test::contentOf(path + QStringLiteral(".pdf"));
        QVERIFY2(svg.contains("<svg") && svg.contains("<text"), qPrintable(step.figure));
        QVERIFY2(pdf.startsWith("%PDF") && pdf.contains("/Font"), qPrintable(step.figure));
        const QImage image(path + QStringLiteral(".png"));
        QCOMPARE(image.size(), reading.page->figure()->pictureSize() * 2);
        QVERIFY2(coloursOf(image) > 5, qPrintable(step.figure));
      }
    }
    QCOMPARE(kinds.size(), figureKinds().size());
  }

  void thePictureHasNoControls() {
    Exporting reading(model_);
    reading.goTo(QStringLiteral("speed/passes"));
    const Figure* figure = reading.page->figure();
    const auto* controls = reading.child<QWidget>("play")->parentWidget();
    QVERIFY(figure->pictureSize().height() <= figure->height() - controls->height());
    QCOMPARE(figure->pictureSize().width(), figure->width());
  }

  void whatPlaysCanBeSetToATime() {
    Exporting reading(model_);
    int playing = 0;
    for (const Lesson& lesson : reading.page->walk()->lessons()) {
      for (const LessonStep& step : lesson.steps) {
        reading.goTo(lesson.name + u'/' + step.name);
        Figure& figure = *reading.page->figure();
        const Film film = figure.film();
        QCOMPARE(film.frames() > 0, film.length > 0);
        if (film.length == 0) continue;
        ++playing;
        const auto at = [&](int ms) {
          figure.showTime(ms);
          [[maybe_unused]] const bool still = QTest::qWaitFor([&] { return figure.isSettled(); });
          return pictureOf(figure);
        };
        const QByteArray where = (lesson.name + u'/' + step.name).toUtf8();
        const QImage first = at(0);
        const QString finding = figure.accessibleName();
        const QImage middle = at(film.length / 2);
        QVERIFY2(first != middle, where.constData());
        QVERIFY2(middle != at(film.length), where.constData());
        (void)at(0);
        QVERIFY2(figure.accessibleName() == finding, where.constData());
      }
    }
    QVERIFY(playing > 3);
  }

  void framesComeIntoAFolderOfTheirOwn() {
    Exporting reading(model_);
    reading.goTo(QStringLiteral("projection/mean"));
    const int frames = reading.page->figure()->film().frames();
    QSignalSpy written(reading.saved, &FigureExport::written);
    reading.saved->saveFrames(folder_.path());
    int turns = 0;  // of the event loop, which goes on meanwhile
    QTimer clock;
    connect(&clock, &QTimer::timeout, this, [&] { ++turns; });
    clock.start(0);
    QVERIFY(reading.saved->writing() && reading.saved->isVisible());
    QTRY_COMPARE_WITH_TIMEOUT(written.count(), 1, 60'000);
    QVERIFY(!reading.saved->writing() && !reading.saved->isVisible());
    QVERIFY2(turns >= frames, qPrintable(QString::number(turns)));
    const QDir made(folder_.filePath(QStringLiteral("projection_mean")));
    const QStringList names = made.entryList({QStringLiteral("*.png")}, QDir::Files, QDir::Name);
    QCOMPARE(static_cast<int>(names.size()), frames);
    QCOMPARE(names.first(), QStringLiteral("frame_0001.png"));
    const QImage first(made.filePath(names.first())), middle(made.filePath(names[frames / 2]));
    QCOMPARE(first.size(), middle.size());
    QVERIFY(!first.isNull() && first != middle);
    QVERIFY(reading.window.infoBar()->isVisible());
    reading.saved->saveFrames(folder_.path());  // what is there is not written over
    QVERIFY(QDir(folder_.filePath(QStringLiteral("projection_mean-2"))).exists());
    reading.saved->stop();
  }

  void stoppedFramesLeaveNothing() {
    Exporting reading(model_);
    reading.goTo(QStringLiteral("speed/passes"));
    const QString made = folder_.filePath(QStringLiteral("speed_passes"));
    const auto begin = [&] {
      reading.saved->saveFrames(folder_.path());
      QTRY_VERIFY(QDir(made).exists(QStringLiteral("frame_0002.png")));
    };
    begin();
    const QString link = reading.page->walk()->current().name;
    QTest::keyClick(reading.page, Qt::Key_Right);  // the figure is at work
    QCOMPARE(reading.page->walk()->current().name, link);
    QTest::keyClick(reading.page, Qt::Key_Escape);
    QVERIFY(!reading.saved->writing());
    QVERIFY(!QDir(made).exists());
    QVERIFY(reading.page->isVisible());
    begin();
    QTest::mouseClick(reading.saved->findChild<QAbstractButton*>(QStringLiteral("stopPicture")), Qt::LeftButton);
    QVERIFY(!reading.saved->writing() && !QDir(made).exists());
    begin();
    reading.page->walk()->goTo(QStringLiteral("speed/rms"));
    QVERIFY(!reading.saved->writing() && !QDir(made).exists());
  }

  void theMenuSaysWhatCanBeSaved() {
    Exporting reading(model_);
    const auto enabled = [&](const char* action) {
      QMenu menu;
      reading.saved->fill(&menu);
      return menu.findChild<QAction*>(QLatin1String(action))->isEnabled();
    };
    reading.goTo(QStringLiteral("crms/crms"));
    QVERIFY(enabled("saveFigure") && !enabled("saveFrames"));  // nothing plays
    reading.goTo(QStringLiteral("speed/passes"));
    QVERIFY(enabled("saveFigure") && enabled("saveFrames"));
  }

  void whatCannotBeWrittenIsTold() {
    Exporting reading(model_);
    QSignalSpy failed(reading.saved, &FigureExport::failed);
    for (const char* name : {"none/a.svg", "none/a.pdf", "none/a.png"})
      reading.saved->savePicture(folder_.filePath(QLatin1String(name)));
    reading.goTo(QStringLiteral("projection/mean"));
    reading.saved->saveFrames(folder_.filePath(QStringLiteral("none")));
    QCOMPARE(failed.count(), 4);
    QVERIFY(!reading.saved->writing());
  }

 private:
  QTemporaryDir folder_;
};

}  // namespace normlens::ui

int main(int argc, char** argv) { return normlens::test::runShellTest<normlens::ui::LessonsTest>(argc, argv); }

#include "test_lessons.moc"
