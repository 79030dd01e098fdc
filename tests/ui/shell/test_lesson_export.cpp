// Figures of lessons as files: pictures of each kind, and the frames of what plays.
#include <QAction>
#include <QDir>
#include <QImage>
#include <QMenu>
#include <QPainter>
#include <QSignalSpy>
#include <QTemporaryDir>

#include "tests/ui/shell/shown_window.h"
#include "ui/learn/figure.h"
#include "ui/widgets/info_bar.h"
#include "ui/window/actions.h"
#include "ui/window/learn/figure_export.h"
#include "ui/window/learn/lessons_page.h"

namespace normlens::ui {
namespace {

// The lessons, on a model that is open.
struct Reading : Shown {
  explicit Reading(const QString& model) : Shown(model) {
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

// How many colours there are along its lines, up to some.
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

class LessonExportTest final : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void initTestCase() {
    QStandardPaths::setTestModeEnabled(true);
    model_ = test::modelFile(folder_);
  }

  void everyKindOfFigureIsSavedAsPictures() {
    Reading reading(model_);
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
    Reading reading(model_);
    reading.goTo(QStringLiteral("speed/passes"));
    const Figure* figure = reading.page->figure();
    const auto* controls = reading.child<QWidget>("play")->parentWidget();
    QVERIFY(figure->pictureSize().height() <= figure->height() - controls->height());
    QCOMPARE(figure->pictureSize().width(), figure->width());
  }

  void whatPlaysCanBeSetToATime() {
    Reading reading(model_);
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
    Reading reading(model_);
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
    Reading reading(model_);
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
    Reading reading(model_);
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
    Reading reading(model_);
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
  QString model_;
};

}  // namespace normlens::ui

QTEST_MAIN(normlens::ui::LessonExportTest)
#include "test_lesson_export.moc"
