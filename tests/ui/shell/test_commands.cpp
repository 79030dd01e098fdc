// The command palette by keys alone, and the preferences: what is chosen holds at once and is kept.
#include <QAbstractItemModelTester>
#include <QClipboard>
#include <QComboBox>
#include <QGuiApplication>
#include <QLabel>
#include <QListView>
#include <QMenu>
#include <QSet>
#include <QSettings>
#include <QSpinBox>
#include <QStackedWidget>
#include <QTabBar>
#include <QTextBrowser>
#include <algorithm>

#include "tests/ui/shell/shown_window.h"
#include "ui/client/engine_client.h"
#include "ui/graphview/graph_view.h"
#include "ui/models/search/palette_model.h"
#include "ui/session/difference_run.h"
#include "ui/session/forced_errors.h"
#include "ui/widgets/segmented.h"
#include "ui/window/actions.h"
#include "ui/window/bottom/bottom_panel.h"
#include "ui/window/bottom/learn_page.h"
#include "ui/window/frame/command_palette.h"
#include "ui/window/frame/preferences_page.h"
#include "ui/window/inspector/inspector.h"
#include "ui/window/workspace/graph_pane.h"
#include "ui/window/workspace/workspace.h"

namespace normlens::ui {

namespace {

void openPalette(Shown& shown) {
  QVERIFY(QTest::qWaitForWindowActive(&shown.window));
  QTest::keyClick(&shown.window, Qt::Key_K, Qt::ControlModifier);
  QVERIFY(shown.child<CommandPalette>("commandPalette")->isVisible());
}

void type(Shown& shown, const QString& letters) { QTest::keyClicks(shown.child<QLineEdit>("paletteField"), letters); }

void press(Shown& shown, Qt::Key key) { QTest::keyClick(shown.child<QLineEdit>("paletteField"), key); }

QString current(Shown& shown) { return shown.child<QListView>("paletteList")->currentIndex().data().toString(); }

}  // namespace

class TestCommands final : public test::ModelTest {
  Q_OBJECT

 private Q_SLOTS:
  void init() { QSettings().clear(); }

  void cleanup() { applyTheme(*qApp, lightTheme()); }

  void lettersInOrderFindATitle() {
    QVERIFY(fuzzyMatch(QStringLiteral("fa"), QStringLiteral("Fold all")));
    QVERIFY(!fuzzyMatch(QStringLiteral("af"), QStringLiteral("Fold ll")));
    QCOMPARE(fuzzyMatch(QStringLiteral("fa"), QStringLiteral("Fold all"))->positions, (QVector<int>{0, 5}));
    const auto score = [](const char* pattern, const char* title) {
      return fuzzyMatch(QString::fromLatin1(pattern), QString::fromLatin1(title))->score;
    };
    QVERIFY(score("fold", "Fold all") > score("fold", "Find old"));
    QVERIFY(score("ln_2", "h.3.ln_2") > score("ln_2", "h.3.ln_20"));
    QVERIFY(score("h3", "h.3.ln_2") > score("h3", "the layer 13"));
    QVERIFY(fuzzyMatch(QStringLiteral("ln h.3"), QStringLiteral("h.3.ln_2")));  // words in any order
    QCOMPARE(fuzzyMatch({}, QStringLiteral("anything"))->score, 0);
    QVERIFY(!fuzzyMatch(QStringLiteral("x"), {}));
  }

  void thePaletteModelNarrowsAndOrders() {
    PaletteModel model;
    const QAbstractItemModelTester tester(&model, QAbstractItemModelTester::FailureReportingMode::QtTest);
    int ran = 0;
    model.setEntries({{QStringLiteral("Find"), {}, {}, true, {}},
                      {QStringLiteral("Fold"), {}, {}, false, [&] { ran += 10; }},
                      {QStringLiteral("Fold all"), {}, {}, true, [&] { ran += 1; }}});
    QCOMPARE(model.rowCount(), 3);
    model.setPattern(QStringLiteral("fol"));
    QCOMPARE(model.rowCount(), 2);
    QCOMPARE(model.index(0).data().toString(), QStringLiteral("Fold all"));  // what cannot be done comes last
    model.run(0);
    model.run(1);
    QCOMPARE(ran, 1);
    model.setPattern(QStringLiteral("zzz"));
    QCOMPARE(model.rowCount(), 0);
  }

  void noTwoEntriesHaveOneText() {
    Shown shown(model_);
    openPalette(shown);
    const QAbstractItemModel* rows = shown.child<QListView>("paletteList")->model();
    QSet<QString> seen;
    for (int row = 0; row < rows->rowCount(); ++row) {
      QString words = rows->index(row, 0).data().toString();
      for (const char* group : {"Policy: ", "Theme: ", "Go to: "}) {
        if (words.startsWith(QLatin1String(group))) words.remove(0, static_cast<int>(qstrlen(group)));
      }
      QVERIFY2(!seen.contains(words.toLower()), qPrintable(words));
      seen << words.toLower();
    }
    QVERIFY(seen.contains(QStringLiteral("fold all")) && seen.contains(QStringLiteral("weights only")));
  }

  void thePaletteChangesWhatTheGraphShows() {
    Shown shown(model_);
    openPalette(shown);
    type(shown, QStringLiteral("graph cost"));
    QCOMPARE(current(shown), QStringLiteral("Graph: Cost"));
    press(shown, Qt::Key_Return);
    QCOMPARE(shown.child<Segmented>("graphMode")->current(), 3);
    QVERIFY(shown.child<QWidget>("costLegend")->isVisible());
  }

  void helpLeadsToTheVersions() {
    Shown shown(model_);
    const QMenu* help = shown.window.actions()->helpMenu;
    QStringList titles;
    for (const QAction* action : help->actions()) titles << action->text().section(u'\t', 0, 0);
    QCOMPARE(titles, (QStringList{QStringLiteral("Explain this"), QStringLiteral("Lessons"), QString(),
                                  QStringLiteral("Keys and gestures"), QStringLiteral("About NormLens")}));
    shown.window.actions()->about->trigger();
    QVERIFY(shown.child<QWidget>("about")->isVisible());
    shown.click("aboutCopy");
    const QString versions = QGuiApplication::clipboard()->text();
    QVERIFY2(versions.contains(QStringLiteral("Qt: ") + QLatin1String(qVersion())) &&
                 versions.contains(QStringLiteral("Engine: ") +
                                   QString::fromStdString(shown.window.engine()->info().version)),
             qPrintable(versions));
    QTest::keyClick(shown.child<QWidget>("about"), Qt::Key_Escape);
    QVERIFY(shown.window.workspace()->isVisible());
  }

  void aCommandIsRunByKeysAlone() {
    Shown shown(test::modelFile(folder_, QStringLiteral("bert.pt")));
    openPalette(shown);
    type(shown, QStringLiteral("fold all"));
    QCOMPARE(current(shown), QStringLiteral("Fold all"));
    press(shown, Qt::Key_Return);
    QVERIFY(!shown.child<CommandPalette>("commandPalette")->isVisible());
    QTRY_VERIFY(shown.session.plan() && shown.session.plan()->folded.size() == 9);
  }

  void aNormAndAPanelAreGoneTo() {
    Shown shown(model_);
    openPalette(shown);
    type(shown, QStringLiteral("h2ln2"));
    QCOMPARE(current(shown), QStringLiteral("h.2.ln_2"));
    press(shown, Qt::Key_Return);
    QCOMPARE(shown.session.selection()->current().norm, 5);
    openPalette(shown);
    type(shown, QStringLiteral("go table"));
    press(shown, Qt::Key_Return);
    QCOMPARE(shown.window.workspace()->place(), Workspace::Place::Norms);
    QTest::keyClick(&shown.window, Qt::Key_3, Qt::AltModifier);
    QCOMPARE(shown.window.workspace()->bottom()->tab(), BottomPanel::Plan);
  }

  void f1OpensTheLessonOfWhatHasTheKeyboard() {
    Shown shown;
    QVERIFY(!shown.child<QAction>("explain")->isEnabled());  // there is nothing to explain yet
    shown.openAndAnalyse(model_);
    const auto lesson = [&] { return shown.child<LearnPage>("learn")->lesson(); };
    QVERIFY(QTest::qWaitForWindowActive(&shown.window));
    QTest::keyClick(&shown.window, Qt::Key_3, Qt::AltModifier);  // the plan
    QTest::keyClick(QApplication::focusWidget(), Qt::Key_F1);
    QVERIFY(shown.window.workspace()->words()->isVisible() && !shown.window.workspace()->inspector()->isVisible());
    QCOMPARE(lesson(), QStringLiteral("plan"));
    shown.window.workspace()->graph()->findChild<graphview::GraphView*>()->setFocus();
    QTest::keyClick(QApplication::focusWidget(), Qt::Key_F1);
    QCOMPARE(lesson(), QStringLiteral("zero_mean_graph"));
    QTest::keyClick(QApplication::focusWidget(), Qt::Key_Escape);
    QVERIFY(!shown.window.workspace()->words()->isVisible() && shown.window.workspace()->inspector()->isVisible());
  }

  void theGraphHasTheWholeWindow() {
    Shown shown(model_);
    auto* graph = shown.window.workspace()->graph();
    const QSize before = graph->size();
    QTest::keyClick(&shown.window, Qt::Key_F);
    QTRY_COMPARE(graph->size(), shown.window.centralWidget()->size());
    for (const char* name : {"toolBar", "storyBar", "statusBar", "panel"})
      QVERIFY2(!shown.child<QWidget>(name)->isVisible(), name);
    QTest::keyClick(&shown.window, Qt::Key_Escape);
    QTRY_COMPARE(graph->size(), before);
  }

  void theTableIsTheListsWideForm() {
    Shown shown(model_);
    QTest::keyClick(&shown.window, Qt::Key_W);
    QVERIFY(shown.child<QWidget>("normTable")->isVisible() && shown.window.workspace()->inspector()->isVisible());
    QVERIFY(!shown.child<QWidget>("normList")->isVisible() && !shown.window.workspace()->graph()->isVisible());
    QTest::keyClick(&shown.window, Qt::Key_W);
    QVERIFY(shown.child<QWidget>("normList")->isVisible() && shown.window.workspace()->graph()->isVisible());
  }

  void escapeTakesOneStepAtATime() {
    Shown shown(model_, {QStringLiteral("--slow"), QStringLiteral("fold=60000")});
    Workspace& work = *shown.window.workspace();
    QVERIFY(QTest::qWaitForWindowActive(&shown.window));
    shown.session.selection()->selectNorm(2);
    shown.session.fold();
    work.showPlace(Workspace::Place::Inputs);
    shown.click("logButton");
    shown.child<QLineEdit>("normFilter")->setFocus();
    const auto escape = [&] { QTest::keyClick(&shown.window, Qt::Key_Escape); };
    QTest::keyClick(QApplication::focusWidget(), Qt::Key_Escape);
    QVERIFY(!shown.child<QLineEdit>("normFilter")->hasFocus() && work.place() == Workspace::Place::Inputs);
    escape();
    QVERIFY(work.place() == Workspace::Place::Graph && shown.child<QWidget>("log")->isVisible());
    escape();
    QVERIFY(!shown.child<QWidget>("log")->isVisible() && shown.session.busy());
    escape();
    QTRY_VERIFY(!shown.session.busy());
    QCOMPARE(shown.session.selection()->current().norm, 2);
    QTRY_VERIFY(work.graph()->view()->isLaidOut());  // else the next one stops the layout
    escape();
    QCOMPARE(shown.session.selection()->current().norm, -1);
  }

  void theTabsHaveTheirFigures() {
    Shown shown(model_);
    const auto* tabs = shown.child<QTabBar>("bottomTabs");
    QCOMPARE(tabs->count(), 4);
    const auto edits = shown.session.plan()->edits.size();
    QCOMPARE(tabs->tabText(BottomPanel::Plan), QStringLiteral("Plan · %1 edits").arg(edits));
    QCOMPARE(tabs->tabText(BottomPanel::Proof), QStringLiteral("Proof"));
    shown.fold();
    QVERIFY(tabs->tabText(BottomPanel::Proof).startsWith(QStringLiteral("Proof · ")));
    QCOMPARE(tabs->tabText(BottomPanel::Differences), QStringLiteral("Differences"));
    shown.session.differences()->start({});
    QTRY_VERIFY(!shown.session.differences()->running());
    QCOMPARE(tabs->tabText(BottomPanel::Differences), QStringLiteral("Differences · 2e-6"));
  }

  void everyLinkLeadsToALesson() {
    Shown shown(model_);
    shown.session.selection()->selectNorm(2);
    LearnPage page(nullptr);
    QSet<QString> names;
    for (const QWidget* widget : shown.window.findChildren<QWidget*>()) {
      const QString name = widget->property("lesson").toString();
      if (name.isEmpty()) continue;
      names << name;
      page.showLesson(name);
      QCOMPARE(page.lesson(), name);
    }
    QVERIFY(names.size() >= 6);
    page.showLesson(QStringLiteral("no such lesson"));
    QCOMPARE(page.lesson(), QStringLiteral("zero_mean"));
    QVERIFY(
        page.findChild<QTextBrowser*>(QStringLiteral("lessonText"))->toPlainText().contains(QStringLiteral("RMS(x)")));
  }

  void arrowsMoveAndEscapeCloses() {
    Shown shown(model_, {QStringLiteral("--slow"), QStringLiteral("fold=5000")});
    shown.session.fold();
    openPalette(shown);
    const QString first = current(shown);
    press(shown, Qt::Key_Down);
    QVERIFY(current(shown) != first);
    press(shown, Qt::Key_Up);
    QCOMPARE(current(shown), first);
    press(shown, Qt::Key_Escape);
    QVERIFY(!shown.child<CommandPalette>("commandPalette")->isVisible());
    QVERIFY(shown.session.busy());  // Escape was the palette's, not the job's
  }

  void whatCannotBeDoneIsNotDone() {
    Shown shown;
    openPalette(shown);
    type(shown, QStringLiteral("fold all"));
    press(shown, Qt::Key_Return);
    QVERIFY(shown.child<CommandPalette>("commandPalette")->isVisible());
    type(shown, QStringLiteral("zzzz"));
    QVERIFY(!shown.child<QListView>("paletteList")->isVisible());
  }

  void everyActionIsInThePalette() {
    Shown shown;
    const QList<QAction*> listed = shown.window.actions()->searchable();
    for (QAction* action : shown.window.actions()->findChildren<QAction*>()) {
      if (action->objectName().isEmpty()) continue;
      QVERIFY2(listed.contains(action), qPrintable(action->objectName()));
    }
    QVERIFY(listed.size() > 25);
  }

  void whatHasOnlyAButtonIsInThePaletteToo() {
    Shown shown(test::modelFile(folder_, QStringLiteral("bert.pt")));
    const auto first = [&] { return shown.child<QListView>("paletteList")->model()->index(0, 0).data().toString(); };
    openPalette(shown);
    type(shown, QStringLiteral("device"));
    QVERIFY2(first().startsWith(QStringLiteral("Device: ")), qPrintable(first()));
    press(shown, Qt::Key_Escape);
    shown.clickNorm(4);
    openPalette(shown);
    type(shown, QStringLiteral("error if folded anyway"));
    QCOMPARE(first(), QStringLiteral("Show the error if folded anyway"));
    press(shown, Qt::Key_Return);
    QTRY_VERIFY(shown.session.forcedErrors()->has(4));
  }

  void theEnginesButtonStandsBelowItsField() {
    Shown shown;
    shown.child<QAction>("preferences")->trigger();
    shown.child<QSpinBox>("preferFont")->setValue(18);
    const auto left = [&](const char* name) { return shown.child<QWidget>(name)->mapTo(&shown.window, QPoint()).x(); };
    QTRY_COMPARE(left("preferEngineApply"), left("preferEngine"));
  }

  void preferencesHoldAtOnceAndAreKept() {
    const QStringList withGpu{QStringLiteral("--gpu"), QStringLiteral("H100")};
    {
      Shown shown(model_, withGpu, true);
      shown.clickNorm(3);
      QTest::keyClick(&shown.window, Qt::Key_Comma, Qt::ControlModifier);
      auto* page = shown.child<PreferencesPage>("preferences");
      QVERIFY(page->isVisible());
      auto* scheme = shown.child<Segmented>("preferScheme");
      QTest::mouseClick(scheme, Qt::LeftButton, {}, QPoint(scheme->width() * 5 / 6, scheme->height() / 2));
      QVERIFY(themeOf(&shown.window).dark);
      shown.child<QSpinBox>("preferFont")->setValue(15);
      QCOMPARE(QApplication::font().pixelSize(), 15);
      QCOMPARE(uiFont(11).pixelSize(), 13);
      auto* direction = shown.child<Segmented>("preferDirection");
      QTest::mouseClick(direction, Qt::LeftButton, {}, QPoint(direction->width() * 3 / 4, direction->height() / 2));
      QCOMPARE(shown.window.workspace()->graph()->view()->direction(), layout::Direction::Right);
      QTest::mouseClick(direction, Qt::LeftButton, {}, QPoint(direction->width() / 4, direction->height() / 2));
      QCOMPARE(shown.window.workspace()->graph()->view()->direction(), layout::Direction::Down);
      shown.child<QSpinBox>("preferDigits")->setValue(2);
      QCOMPARE(shown.session.digits(), 2);
      auto* device = shown.child<Segmented>("preferDevice");
      QTest::mouseClick(device, Qt::LeftButton, {}, QPoint(device->width() * 3 / 4, device->height() / 2));
      QCOMPARE(shown.session.measurements()->params().device, std::string("cuda"));
      shown.click("preferencesDone");
      QVERIFY(shown.window.workspace()->isVisible());
    }
    const Preferences kept = preferencesFromSettings();
    QCOMPARE(kept.scheme, ColorScheme::Dark);
    QCOMPARE(kept.fontPixels, 15);
    QCOMPARE(kept.digits, 2);
    Shown again(withGpu, true);
    QCOMPARE(again.session.digits(), 2);
    again.openAndAnalyse(model_);
    QCOMPARE(again.session.measurements()->params().device, std::string("cuda"));
  }

  // In all places that offer it, with the reason.
  void aGpuThatIsNotThereCannotBeChosen() {
    Shown shown({}, true);
    Preferences earlier;
    earlier.device = QStringLiteral("cuda");  // with another engine
    savePreferences(earlier);
    Shown other({}, true);
    for (Shown* each : {&shown, &other}) {
      each->openAndAnalyse(model_);
      each->child<QAction>("preferences")->trigger();
      auto* device = each->child<Segmented>("preferDevice");
      QTest::mouseClick(device, Qt::LeftButton, {}, QPoint(device->width() * 3 / 4, device->height() / 2));
      QTest::keyClick(device, Qt::Key_Right);
      QCOMPARE(device->current(), 0);
      QCOMPARE(each->session.measurements()->params().device, std::string("cpu"));
      const QString reason = QStringLiteral("No GPU found. No NVIDIA driver was found.");
      QCOMPARE(each->child<QLabel>("preferDeviceNote")->text(), reason);
      const auto* bench = each->child<QComboBox>("benchDevice");
      QVERIFY(!bench->model()->flags(bench->model()->index(1, 0)).testFlag(Qt::ItemIsEnabled));
      QVERIFY(bench->toolTip().endsWith(reason));
      const auto actions = each->child<QMenu>("deviceMenu")->actions();
      QVERIFY(std::ranges::any_of(actions, [&](const QAction* action) { return action->text() == reason; }));
    }
  }

  void theDeviceMenuShowsWhatTheGpuWasTriedWith() {
    Shown shown({QStringLiteral("--gpu"), QStringLiteral("H100")}, true);
    QTRY_COMPARE(shown.window.engine()->state(), EngineClient::State::Ready);
    auto* menu = shown.child<QMenu>("deviceMenu");
    const auto tip = [&] {
      const auto actions = menu->actions();
      const auto gpu = std::ranges::find(actions, QStringLiteral("H100"), &QAction::text);
      return gpu == actions.end() ? QString() : (*gpu)->toolTip();
    };
    menu->popup(QPoint());
    QTRY_COMPARE(tip(), QStringLiteral("✓ Driver loaded, 3.2 ms\n"
                                       "✗ Driver started; GPU found: failed, cuInit returned 304: see nvidia-smi"));
    menu->close();
  }

  void anotherEngineIsStartedAndTheModelReopened() {
    Shown shown(model_, {}, true);
    shown.session.choices()->setPolicy(Policy::All);
    QTRY_VERIFY(shown.session.plan() && !shown.session.busy());
    const qint64 before = shown.window.engine()->processId();
    shown.child<QAction>("preferences")->trigger();
    auto* field = shown.child<QLineEdit>("preferEngine");
    QVERIFY(!shown.child<QAbstractButton>("preferEngineApply")->isEnabled());
    field->setFocus();
    QTest::keyClicks(field, test::fakeEngine({QStringLiteral("--blocks"), QStringLiteral("2")}).join(u' '));
    shown.click("preferEngineApply");
    QTRY_VERIFY(shown.window.engine()->processId() != before);
    QTRY_VERIFY(shown.session.plan() && !shown.session.busy());
    QCOMPARE(shown.session.analysis()->totals.layer_norms, 5);  // the new engine's model has two blocks
    QCOMPARE(shown.session.choices()->params().policy, Policy::All);
    QVERIFY(preferencesFromSettings().engineCommand.contains(QStringLiteral("--blocks 2")));
  }

  void preferencesOutOfRangeBecomeTheNearest() {
    QSettings().setValue(QStringLiteral("window/font"), 400);
    QSettings().setValue(QStringLiteral("numbers/digits"), QStringLiteral("none"));
    QCOMPARE(preferencesFromSettings().fontPixels, 18);
    QCOMPARE(preferencesFromSettings().digits, 2);
  }
};

}  // namespace normlens::ui

int main(int argc, char** argv) { return normlens::test::runShellTest<normlens::ui::TestCommands>(argc, argv); }

#include "test_commands.moc"
