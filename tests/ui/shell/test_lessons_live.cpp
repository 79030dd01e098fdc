// The lessons whose figures the engine computes, with the engine that ships: their exercises are passed as a reader
// would, on the open model, on the toy and on the lessons' own models, in the page and in a room.
#include <QCheckBox>
#include <QComboBox>
#include <QLabel>
#include <QSlider>
#include <QtTest>
#include <set>

#include "tests/ui/shell/presented.h"
#include "tests/ui/shell/shell_test.h"
#include "ui/learn/figure.h"
#include "ui/session/session.h"
#include "ui/window/actions.h"
#include "ui/window/learn/lessons_page.h"
#include "ui/window/main_window.h"

namespace normlens::ui {
namespace {

constexpr int kPatienceMs = 120'000;  // LibTorch takes seconds to load where the disk is cold

QString demo(const QString& name) { return QStringLiteral(NORMLENS_DEMO_MODELS "/") + name; }

struct Reader {
  explicit Reader(const QString& model = {})
      : window({EngineCommand{QStringLiteral(NORMLENS_ENGINE), QStringLiteral("serve")}, ColorScheme::Light, false,
                false}) {
    window.resize(1440, 900);
    window.show();
    if (!model.isEmpty()) {
      window.openFile(demo(model));
      opened = QTest::qWaitFor([&] { return window.session()->plan().has_value() && !window.session()->busy(); },
                               kPatienceMs);
    }
    window.actions()->lessons->trigger();
    page = window.findChild<LessonsPage*>();
  }
  void goTo(const char* step) const { page->walk()->goTo(QString::fromLatin1(step)); }
  [[nodiscard]] bool settles(const char* number) const {
    return QTest::qWaitFor([&] { return value(number).has_value(); }, kPatienceMs);
  }
  [[nodiscard]] std::optional<double> value(const char* number) const {
    return page->figure()->number(QString::fromLatin1(number));
  }
  // In its last state of the exercise: what the reader is told.
  [[nodiscard]] bool passes() const {
    QTest::keyClick(page, Qt::Key_Return);
    return page->walk()->isPassed(page->walk()->lesson(), page->walk()->step());
  }
  template <class T>
  T* child(const char* name) {
    return page->findChild<T*>(QString::fromLatin1(name));
  }

  MainWindow window;
  bool opened = true;
  LessonsPage* page;
};

}  // namespace

class LiveLessonsTest final : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void onlyAWholeCenteringIsExact_data() {
    QTest::addColumn<QString>("model");
    QTest::newRow("open: gpt2") << QStringLiteral("gpt2.pt");
    QTest::newRow("open: vit") << QStringLiteral("vit.pt");
    QTest::newRow("the toy") << QString();
  }
  void onlyAWholeCenteringIsExact() {
    QFETCH(QString, model);
    Reader reader(model);
    QVERIFY(reader.opened);
    reader.goTo("centering/part");
    QVERIFY(reader.settles("errorShare"));
    QVERIFY(reader.value("error") > reader.value("limit"));
    auto* slider = reader.child<QSlider>("shareSlider");
    QTest::keyClick(slider, Qt::Key_Home);
    QTRY_COMPARE(*reader.value("share"), 0.0);
    QVERIFY(reader.settles("errorShare"));
    QVERIFY(!reader.passes());
    slider->setValue(slider->maximum());  // as a mouse would
    QTRY_COMPARE_WITH_TIMEOUT(reader.value("errorShare").value_or(1) < 0.01, true, kPatienceMs);
    QVERIFY(reader.value("error") <= reader.value("limit"));
    QVERIFY(reader.passes());
    QCOMPARE(reader.window.session()->path(), model.isEmpty() ? QString() : demo(model));  // stays what it was
  }

  void whatIsAddedHasToBeCenteredAsWell() {
    Reader reader(QStringLiteral("gpt2.pt"));
    for (const auto& [step, box] :
         {std::pair("centering/bias", "withBiases"), std::pair("centering/others", "withOthers")}) {
      reader.goTo(step);
      QVERIFY(reader.settles("overLimit"));
      QVERIFY2(*reader.value("overLimit") > 1, step);
      QVERIFY(!reader.passes());
      reader.child<QCheckBox>(box)->click();
      QTRY_VERIFY_WITH_TIMEOUT(reader.value("overLimit").value_or(2) < 1, kPatienceMs);
      QVERIFY(reader.passes());
    }
  }

  void everyKindOfLayerIsThere() {
    Reader reader;
    reader.goTo("centering/kinds");
    auto* kinds = reader.child<QWidget>("layerKinds");
    std::set<int> seen;
    QVERIFY(reader.settles("kind"));
    for (int i = 0; i < 6; ++i) QTest::keyClick(kinds, Qt::Key_Left);
    for (int i = 0; i < 6; ++i) {
      QVERIFY(reader.settles("overLimit"));
      QVERIFY2(*reader.value("overLimit") <= 1, qPrintable(QString::number(*reader.value("kind"))));
      seen.insert(static_cast<int>(*reader.value("kind")));
      if (*reader.value("kind") == 4) QVERIFY(reader.passes());
      QTest::keyClick(kinds, Qt::Key_Right);
    }
    QCOMPARE(static_cast<int>(seen.size()), 6);
  }

  void theCutFollowsThePrice() {
    Reader reader;
    reader.goTo("min_cut/costs");
    QVERIFY(reader.settles("freed"));
    QCOMPARE(*reader.value("cut"), *reader.value("flow"));
    auto* slider = reader.child<QSlider>("priceSlider");
    double before = 1e9;
    bool passed = false;
    for (int step = 0; step <= 60; ++step) {
      slider->setValue(slider->maximum() * step / 60);
      const double price = 3.0 * step / 60;
      QTRY_VERIFY_WITH_TIMEOUT(std::abs(*reader.value("price") - price) < 0.01, kPatienceMs);
      const double freed = *reader.value("freed");
      QVERIFY(freed <= before);
      before = freed;
      passed = passed || (freed == 4 && reader.passes());
    }
    QVERIFY(passed);
    QCOMPARE(before, 4.0);
  }

  void whatCannotFoldShowsByHowMuch() {
    Reader reader;
    for (const char* step : {"not_exact/post_norm", "not_exact/over_space", "not_exact/concatenated",
                             "not_exact/depthwise", "not_exact/hidden_states"}) {
      reader.goTo(step);
      QVERIFY2(reader.settles("float16"), step);
      QVERIFY2(*reader.value("verdict") == 0, step);
      QVERIFY2(*reader.value("overLimit") > 10, step);
    }
    reader.goTo("not_exact/post_norm");
    QVERIFY(reader.settles("verdict"));
    QVERIFY(!reader.passes());
    auto* norms = reader.child<QComboBox>("forcedNorm");
    norms->setFocus();
    QTest::keyClick(norms, Qt::Key_Home);
    QVERIFY(reader.passes());
  }

  // The lessons' own engine ends with them, whatever it is at; and is there again when they are.
  void whoLeavesTheLessonsTakesTheirEngineAlong() {
    Reader reader(QStringLiteral("gpt2.pt"));
    for (int round = 0; round < 3; ++round) {
      reader.goTo("centering/kinds");
      if (round == 0) QVERIFY(reader.settles("error"));
      QTest::keyClick(reader.page, Qt::Key_Escape);
      QVERIFY(!reader.page->isVisible() && !reader.value("error"));
      reader.window.actions()->lessons->trigger();
      QVERIFY(reader.settles("error"));
    }
    reader.goTo("min_cut/cut");  // and the window ends while it is asked
  }

  void everyLessonToItsEndInPageAndRoom_data() {
    QTest::addColumn<QString>("model");
    QTest::newRow("gpt2") << QStringLiteral("gpt2.pt");
    QTest::newRow("bert") << QStringLiteral("bert.pt");
  }
  void everyLessonToItsEndInPageAndRoom() {
    QFETCH(QString, model);
    Reader reader(model);
    QVERIFY(reader.opened);
    LessonWalk* walk = reader.page->walk();
    walk->goTo(0, 0);
    QTest::keyClick(reader.page, Qt::Key_F5);
    Presenter* presenter = test::presenter();
    QVERIFY(presenter != nullptr && QTest::qWaitForWindowExposed(presenter));
    int steps = 1;
    for (; walk->next() != nullptr; ++steps) {
      QTest::keyClick(presenter, Qt::Key_Right);
      QVERIFY(presenter->figure() != nullptr && presenter->figure()->isVisible());
      QVERIFY(reader.page->figure() != nullptr);
      QVERIFY(!presenter->figure()->accessibleName().isEmpty());
    }
    QCOMPARE(walk->lesson(), static_cast<int>(walk->lessons().size()) - 1);
    QVERIFY(steps > 25);
    QTest::keyClick(presenter, Qt::Key_Escape);
    QTRY_VERIFY(test::presenter() == nullptr);
  }
};

}  // namespace normlens::ui

int main(int argc, char** argv) { return normlens::test::runShellTest<normlens::ui::LiveLessonsTest>(argc, argv); }
#include "test_lessons_live.moc"
