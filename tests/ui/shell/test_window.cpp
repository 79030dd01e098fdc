// The whole window against the fake engine, by clicks: open, select, fold, export; cancel; crash and recovery; errors.
#include <QAbstractButton>
#include <QAbstractItemView>
#include <QAbstractSpinBox>
#include <QElapsedTimer>
#include <QFileDialog>
#include <QHeaderView>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <QTabBar>
#include <QTableView>
#include <QToolButton>
#include <QTreeView>
#include <QVBoxLayout>
#include <algorithm>
#include <csignal>

#include "tests/ui/shell/shown_window.h"
#include "ui/client/engine_client.h"
#include "ui/graphview/graph_view.h"
#include "ui/models/norm_model.h"
#include "ui/models/norm_table.h"
#include "ui/session/project/recent_files.h"
#include "ui/session/session.h"
#include "ui/session/streams.h"
#include "ui/widgets/badge.h"
#include "ui/widgets/info_bar.h"
#include "ui/window/actions.h"
#include "ui/window/bottom/bottom_panel.h"
#include "ui/window/frame/norm_panel.h"
#include "ui/window/frame/status_strip.h"
#include "ui/window/frame/story_bar.h"
#include "ui/window/main_window.h"
#include "ui/window/screenshot.h"
#include "ui/window/workspace/graph_pane.h"
#include "ui/window/workspace/workspace.h"

namespace normlens::ui {

// Counts how often a widget gets its style anew.
struct Polishes : QObject {
  int count = 0;
  bool eventFilter(QObject*, QEvent* event) override {
    count += event->type() == QEvent::StyleChange ? 1 : 0;
    return false;
  }
};

class TestWindow final : public test::ModelTest {
  Q_OBJECT

 private Q_SLOTS:
  void recentFilesDoNotOverlap() {
    const QStringList files{model_, test::modelFile(folder_, QStringLiteral("bert.pt"))};
    for (const QString& file : files) rememberFile({file, 1, 9});
    Shown shown;
    QList<QPushButton*> rows;
    for (auto* button : shown.window.findChildren<QPushButton*>()) {
      if (button->property("kind") == QVariant(QStringLiteral("recentRow"))) rows << button;
    }
    QVERIFY(rows.size() >= 2);
    for (const QPushButton* row : rows) {
      const auto labels = row->findChildren<QLabel*>();
      for (const QLabel* label : labels) {
        QVERIFY2(label->height() >= label->fontMetrics().height(), qPrintable(label->text()));
        for (const QLabel* other : labels) QVERIFY(label == other || !label->geometry().intersects(other->geometry()));
      }
    }
    QVERIFY(!rows[0]->geometry().intersects(rows[1]->geometry()));
  }

  // Without the old sheet and with the new one, however deep in the window: it stands still meanwhile.
  void theThemeIsChangedInTwoPasses() {
    Shown shown(model_);
    auto* deep = shown.child<QWidget>("normFilter");
    Polishes polishes;
    deep->installEventFilter(&polishes);
    applyTheme(*qApp, darkTheme());
    QVERIFY(themeOf(deep).dark);
    QCOMPARE(polishes.count, 2);
    applyTheme(*qApp, lightTheme());
    QCOMPARE(polishes.count, 4);
  }

  void aVerdictStaysOnOneLineOfTheStory() {
    StorySegment segment;
    segment.setWraps(true);
    const StoryPiece chip{QStringLiteral("22 with shared centering"), StoryPiece::Tone::Centering,
                          QStringLiteral("centering")};
    segment.setStep({QStringLiteral("Verdict"), true, {chip}});
    const int one = segment.sizeHint().width();
    segment.setStep({QStringLiteral("Verdict"), true, {chip, chip, chip}});
    QVERIFY(segment.heightForWidth(2 * one + 40) < segment.heightForWidth(one));
    // The words of all would fit in two lines here.
    QCOMPARE(segment.heightForWidth(one * 7 / 4), segment.heightForWidth(one));
  }

  // Names are as long as in users' models, and reasons name nodes.
  void theStoryShowsAllStepsAt1280() {
    using Tone = StoryPiece::Tone;
    const auto piece = [](const char* words, Tone tone = Tone::Plain, const char* icon = "") {
      return StoryPiece{QString::fromUtf8(words), tone, QLatin1String(icon)};
    };
    const StoryPiece head = piece("Will fold 5 of 5:", Tone::Strong, "plan_would");
    Story story;
    story.steps[StoryModel] = {
        QStringLiteral("Model"),
        true,
        {piece("ch_PP-OCRv4_rec_infer.onnx", Tone::Strong), piece("· 5 LayerNorms"), piece("· x 2×3×64×96")}};
    story.steps[StoryModel].shorter = {{piece("ch_PP-OCRv4_rec_infer.onnx", Tone::Strong)}};
    story.steps[StoryFoldable] = {
        QStringLiteral("Verdict"),
        true,
        {piece("0 can fold free"), piece("5 with shared centering", Tone::Centering, "centering")}};
    story.steps[StoryPlan] = {
        QStringLiteral("Plan · Balanced, 18 edits"),
        true,
        {head,
         piece(
             "4 by a shared centering, 1 with its own centering because its input comes from p2o.Mul.177 (Mul), which "
             "cannot be centered: it is a product of two computed values"),
         piece("· 8 tensors centered")}};
    story.steps[StoryPlan].brief = QStringLiteral("Plan");
    story.steps[StoryPlan].shorter = {{head, piece("4 by a shared centering, 1 with its own centering")}, {head}};
    story.steps[StoryProved] = {
        QStringLiteral("Proved"),
        true,
        {piece("4e-16", Tone::Strong), piece("in float64,"), piece("3e-7", Tone::Strong), piece("in float32")}};
    story.steps[StoryMeasured] = {
        QStringLiteral("Measured"),
        true,
        {piece("1.06× (1.05–1.07)", Tone::Strong), piece("on CPU"), piece("· 4.244 → 4.004 ms")}};
    story.next = NextAction::Fold;
    story.nextText = QStringLiteral("Fold 5 LayerNorms");
    QWidget window;
    auto* column = new QVBoxLayout(&window);
    column->setContentsMargins({});
    auto* bar = new StoryBar(&window);
    column->addWidget(bar);
    for (const int width : {1280, 1366, 1440, 1920}) {
      window.resize(width, 120);
      window.show();
      bar->setStory(story);
      QTRY_VERIFY(window.findChild<QWidget*>(QStringLiteral("storyMore"))->isHidden());
      for (const auto* segment : window.findChildren<StorySegment*>()) {
        QVERIFY2(segment->isVisible(), qPrintable(segment->words()));
        QTRY_VERIFY(segment->height() >= segment->heightForWidth(segment->width()));
        QVERIFY(segment->toolTip().contains(segment->words()));  // all of it, where less is shown
      }
    }
  }

  void aGroupSaysAllOrNothingOfItsPlan() {
    Shown shown(model_);
    auto* list = shown.child<QTreeView>("normList");
    auto* norms = shown.window.findChild<NormModel*>();
    const auto head = [&](const std::vector<PlanMark>& marks, int width) {
      norms->setPlan(marks);
      list->window()->findChild<QWidget*>(QStringLiteral("panel"))->setFixedWidth(width);
      list->setFixedWidth(width);
      QTest::qWait(50);
      return list->grab(QRect(0, 0, width, list->visualRect(list->model()->index(0, 0)).height())).toImage();
    };
    const std::vector<PlanMark> marks(9, PlanMark{PlanState::Planned, {}});
    QVERIFY(head(marks, 400) != head({}, 400));
    QCOMPARE(head(marks, 175), head({}, 175));  // no "9 wi…"
    norms->setPlan(marks);
    QVERIFY(list->model()->index(0, 0).data(Qt::ToolTipRole).toString().endsWith(QStringLiteral("9 will fold")));
  }

  void openSelectFoldExportByClicks() {
    Shown shown;
    shown.click("openButton");
    shown.answerFileDialog("openDialog", model_);
    QTRY_VERIFY(shown.session.plan().has_value() && !shown.session.busy());
    QCOMPARE(shown.session.analysis()->totals.layer_norms, 9);
    QCOMPARE(shown.child<StoryBar>("storyBar")->nextAction(), NextAction::Fold);

    shown.clickNorm(5);
    QCOMPARE(shown.session.selection()->current().norm, 5);
    QTRY_VERIFY(shown.session.selection()->zeroMean().has_value());
    QCOMPARE(shown.child<QLabel>("inspectorTitle")->property("kind").toString(), QStringLiteral("title"));
    QCOMPARE(shown.child<Badge>("verdictBadge")->word(), QStringLiteral("Can fold free"));
    QVERIFY(shown.child<QLabel>("reason")->text().contains(QStringLiteral("linear layer")));
    auto* view = shown.window.workspace()->graph()->view();
    QTRY_VERIFY(view->hasHighlight());

    shown.click("nextAction");
    QTRY_VERIFY(shown.session.foldResult().has_value());
    QCOMPARE(shown.child<QLabel>("foldHeadline")->text(), QStringLiteral("Folded 9 of 9"));
    QCOMPARE(shown.child<Badge>("proofBadge")->word(), QStringLiteral("Exact in float64 and float32"));
    QCOMPARE(shown.child<StoryBar>("storyBar")->nextAction(), NextAction::Export);

    const QString target = folder_.filePath(QStringLiteral("out.pt"));
    shown.click("nextAction");
    QVERIFY(shown.child<QWidget>("exportSheet")->isVisible() && !shown.window.workspace()->graph()->isVisible());
    shown.click("exportChange");
    shown.answerFileDialog("exportDialog", target);
    shown.click("exportWrite");
    QTRY_VERIFY(shown.session.exported().has_value());
    shown.click("exportClose");
    QVERIFY(shown.window.workspace()->graph()->isVisible());
    QVERIFY(QFile::exists(target));
    QVERIFY(shown.window.infoBar()->message().contains(target));
    QVERIFY(!shown.window.infoBar()->showsError());

    shown.click("measureButton");
    QTRY_VERIFY(shown.session.measurements()->last().has_value());
    QVERIFY(shown.child<StorySegment>("storyMeasured")->accessibleName().contains(QStringLiteral("1.06×")));
  }

  void verdictsThatNoRunHasShownAreUnknownEverywhere() {
    Shown shown(test::modelFile(folder_, QStringLiteral("hidden.pt")));
    const QString counted = shown.child<StorySegment>("storyFoldable")->accessibleName();
    QVERIFY2(counted.contains(QStringLiteral("9 not known")) && !counted.contains(QStringLiteral("blocked")),
             qPrintable(counted));
    shown.clickNorm(5);
    QCOMPARE(shown.child<Badge>("verdictBadge")->word(), QStringLiteral("Not known"));
    QCOMPARE(shown.child<QLabel>("reason")->text(),
             QStringLiteral("The model was not run, so the shape of its input is not known. Allow more time in "
                            "Preferences, or give inputs under Inputs."));
    QCOMPARE(recentFiles().front().layerNorms, -1);
    const QAbstractItemModel* table = shown.child<QTableView>("normTable")->model();
    for (const int column : {NormTable::Paper, NormTable::Practical, NormTable::Strict})
      QCOMPARE(table->index(0, column).data().toString(), QStringLiteral("not known"));
    QVERIFY(shown.child<QLabel>("planEmpty")->text().contains(QStringLiteral("9 are not known")));
    QCOMPARE(shown.child<StoryBar>("storyBar")->nextAction(), NextAction::Inputs);
    shown.click("nextAction");
    QCOMPARE(shown.window.workspace()->place(), Workspace::Place::Inputs);
  }

  void aModelThatCannotRunIsNotOfferedToBeFolded() {
    Shown shown(test::modelFile(folder_, QStringLiteral("opaque.pt2")));
    QVERIFY(shown.session.plan()->folded.empty());
    QCOMPARE(shown.session.planMark(0).state, PlanState::Kept);
    QCOMPARE(shown.child<StoryBar>("storyBar")->nextAction(), NextAction::None);
    const auto* actions = shown.window.actions();
    for (const QAction* action : {actions->fold, actions->suggestBest, actions->foldAll, actions->foldNorm})
      QVERIFY(!action->isEnabled());
    const QString why = QStringLiteral("This engine does not run mylib::mix.");
    QCOMPARE(shown.child<QAbstractButton>("foldButton")->toolTip(), why);
    QCOMPARE(shown.child<QLabel>("proofEmpty")->text(), why);
    QCOMPARE(shown.child<QLabel>("benchEmpty")->text(), why);
    QCOMPARE(shown.session.streams()->obstacle(), why);
    for (const char* step : {"storyProved", "storyMeasured"}) {
      const auto* segment = shown.child<StorySegment>(step);
      QVERIFY(segment->accessibleName().contains(QStringLiteral("cannot be run")));
      QVERIFY(segment->toolTip().contains(why));
    }

    shown.openAndAnalyse(model_);
    QVERIFY(shown.window.actions()->fold->isEnabled());
    QVERIFY(shown.child<QAbstractButton>("foldButton")->toolTip().contains(QStringLiteral("Apply the plan")));
  }

  void selectionInListAndGraphFollowEachOther() {
    Shown shown(model_);
    auto* view = shown.window.workspace()->graph()->view();
    const int node = shown.session.norm(3)->node;
    Q_EMIT view->nodeSelected(node);
    QCOMPARE(shown.session.selection()->current().norm, 3);
    auto* list = shown.child<QTreeView>("normList");
    QCOMPARE(list->currentIndex().data(NormModel::NormRole).toInt(), 3);
    shown.clickNorm(0);
    QCOMPARE(view->selectedNode(), shown.session.norm(0)->node);
    Q_EMIT view->nodeSelected(-1);
    QCOMPARE(shown.session.selection()->current(), Selection{});
    QVERIFY(!list->currentIndex().isValid());
  }

  void changesOfThePlanCanBeUndone() {
    Shown shown(postNormModel_);
    QCOMPARE(shown.session.plan()->folded.size(), size_t{1});
    shown.child<QAction>("policy_all")->trigger();
    QTRY_VERIFY(shown.session.plan() && shown.session.plan()->folded.size() == 9);
    shown.session.choices()->keepNorm(4, true);
    QTRY_VERIFY(shown.session.plan() && shown.session.plan()->folded.size() == 8);
    shown.click("undoButton");
    QTRY_VERIFY(shown.session.plan() && shown.session.plan()->folded.size() == 9);
    shown.click("undoButton");
    QTRY_VERIFY(shown.session.plan() && shown.session.plan()->folded.size() == 1);
    QVERIFY(!shown.child<QAbstractButton>("undoButton")->isEnabled());
    shown.click("redoButton");
    QTRY_VERIFY(shown.session.plan() && shown.session.plan()->folded.size() == 9);
    QVERIFY(shown.child<QAction>("policy_all")->isChecked());
  }

  void aChangeOfThePlanMakesTheProofVoid() {
    Shown shown(model_);
    shown.fold();
    shown.session.choices()->keepNorm(0, true);
    QVERIFY(!shown.session.foldResult().has_value());
  }

  void centerHereIsShownBeforeItIsDone() {
    Shown shown(postNormModel_);
    shown.session.selection()->selectNorm(4);
    shown.click("centerHere");
    auto* add = shown.child<QPushButton>("addCentering");
    QTRY_VERIFY(add->isVisible());
    QTest::mouseClick(add, Qt::LeftButton);
    QTRY_VERIFY(shown.session.plan() && shown.session.folds(4));
    shown.click("undoButton");
    QTRY_VERIFY(shown.session.plan() && !shown.session.folds(4));
  }

  void centerHereIsRefusedWithTheReason() {
    Shown shown(model_);
    shown.session.selection()->selectNorm(2);
    shown.click("centerHere");
    auto* card = shown.child<QFrame>("centerCard");
    QTRY_VERIFY(card->isVisible());
    const auto says = [&](const QString& words) {
      const auto labels = card->findChildren<QLabel*>();
      return std::any_of(labels.begin(), labels.end(), [&](QLabel* label) { return label->text().contains(words); });
    };
    QTRY_VERIFY(says(QStringLiteral("a shift would change the output")));
    QVERIFY(!shown.child<QPushButton>("addCentering")->isVisible());
  }

  void aBlockedNormShowsPathAndReason() {
    Shown shown(postNormModel_);
    shown.clickNorm(4);
    QCOMPARE(shown.child<Badge>("verdictBadge")->word(), QStringLiteral("Blocked"));
    QVERIFY(shown.child<QLabel>("reason")->text().contains(QStringLiteral("not zero-mean")));
    auto* view = shown.window.workspace()->graph()->view();
    QTRY_VERIFY(view->hasHighlight());
    QTRY_VERIFY(view->isLaidOut() && view->lighting().blockerBox() >= 0);
  }

  void cancelEndsTheJobWithin200Milliseconds() {
    Shown shown(model_, {QStringLiteral("--deaf"), QStringLiteral("fold=2000")});
    qint64 best = 1000;
    for (int attempt = 0; attempt < 3 && best >= 200; ++attempt) {  // where other programs run, one may be late
      shown.click("nextAction");
      QVERIFY(shown.session.busy());
      QTest::qWait(50);
      QElapsedTimer clock;
      clock.start();
      shown.click("cancelJob");
      QTRY_VERIFY_WITH_TIMEOUT(!shown.session.busy(), 1000);
      best = std::min(best, clock.elapsed());
      QVERIFY(!shown.window.infoBar()->isVisible());
      QVERIFY(!shown.session.foldResult().has_value());
    }
    QVERIFY2(best < 200, qPrintable(QString::number(best)));
  }

  // The button that was pressed goes: Esc is not another field's then.
  void escAfterThePressStopsTheProof() {
    Shown shown(model_, {QStringLiteral("--slow"), QStringLiteral("fold=3000")});
    QVERIFY(QTest::qWaitForWindowActive(&shown.window));
    shown.click("nextAction");
    QTRY_VERIFY(shown.session.job().stage == QStringLiteral("taking its time"));
    QWidget* focus = QApplication::focusWidget();
    QTest::keyClick(focus != nullptr ? focus : &shown.window, Qt::Key_Escape);
    QVERIFY2(shown.session.job().stopping, focus != nullptr ? qPrintable(focus->objectName()) : "no focus");
    QVERIFY(shown.child<QLabel>("jobStage")->accessibleName().startsWith(QStringLiteral("Stopping…")));
    QTRY_VERIFY(!shown.session.busy());
  }

  void aStageDoesNotRepeatItsJob() {
    Shown shown(model_);
    auto* strip = shown.child<StatusStrip>("statusBar");
    const auto words = [&](JobKind kind, const char* stage) {
      strip->showJob({kind, QString::fromLatin1(stage)}, true);
      return shown.child<QLabel>("jobStage")->accessibleName();
    };
    QCOMPARE(words(JobKind::Analyzing, "analyzing"), QStringLiteral("Analyzing"));
    QCOMPARE(words(JobKind::Measuring, "measuring memory"), QStringLiteral("Measuring memory"));
    QCOMPARE(words(JobKind::Folding, "centering weights"), QStringLiteral("Folding: centering weights"));
  }

  void anErrorStaysUntilItIsClosed() {
    Shown shown({QStringLiteral("--error"), QStringLiteral("open")});
    shown.window.openFile(model_);
    QTRY_VERIFY(shown.window.infoBar()->showsError());
    QCOMPARE(shown.window.infoBar()->message(), QStringLiteral("The file model.pt is cut off after 12 of 40 kB."));
    QVERIFY(shown.child<QAbstractButton>("welcomeOpen")->isVisible());
    shown.window.infoBar()->show(InfoBar::Tone::Message, QStringLiteral("something else"));
    QVERIFY(shown.window.infoBar()->showsError());
    shown.click("infoClose");
    QVERIFY(!shown.window.infoBar()->isVisible());
  }

  void theEngineDiesMidwayAndTheWindowCarriesOn() {
    const QString flag = test::modelFile(folder_, QStringLiteral("crash.flag"));
    Shown shown(postNormModel_, {QStringLiteral("--crash"), QStringLiteral("fold"), QStringLiteral("--while"), flag});
    shown.session.choices()->setPolicy(Policy::All);
    QTRY_VERIFY(shown.session.plan() && !shown.session.busy());
    shown.clickNorm(3);
    shown.click("nextAction");
    QTRY_VERIFY(shown.window.infoBar()->showsError());
    QVERIFY(shown.window.infoBar()->message().contains(QStringLiteral("crashed")));
    QVERIFY(!shown.session.busy());
    QVERIFY(shown.session.model().has_value());                       // the graph is still there
    QCOMPARE(shown.session.choices()->params().policy, Policy::All);  // and so is the plan

    shown.click("infoAction");
    QTRY_VERIFY(shown.session.plan() && !shown.session.busy());
    QVERIFY(!shown.window.infoBar()->isVisible());
    QCOMPARE(shown.session.plan()->policy, Policy::All);
    QCOMPARE(shown.session.selection()->current().norm, 3);
    QVERIFY(shown.child<QAbstractButton>("undoButton")->isEnabled());
    shown.click("nextAction");
    QTRY_VERIFY(shown.session.foldResult().has_value());
  }

  void killedWhileOpening() {
    Shown shown({QStringLiteral("--slow"), QStringLiteral("open=3000")});
    shown.window.openFile(model_);
    QTRY_COMPARE(shown.window.engine()->state(), EngineClient::State::Ready);
    ::kill(static_cast<pid_t>(shown.window.engine()->processId()), SIGKILL);
    QTRY_VERIFY(shown.window.infoBar()->showsError());
    QVERIFY(shown.window.infoBar()->message().contains(QStringLiteral("killed")));
    QCOMPARE(shown.session.path(), model_);
  }

  void aFailedProofIsNotExportedUnlessInsisted() {
    Shown shown(postNormModel_);
    shown.session.choices()->setPolicy(Policy::Paper);
    QTRY_VERIFY(shown.session.plan() && !shown.session.busy());
    shown.click("nextAction");
    QTRY_VERIFY(shown.session.foldResult().has_value());
    QVERIFY(shown.window.infoBar()->showsError());
    QCOMPARE(shown.child<Badge>("proofBadge")->word(), QStringLiteral("Outputs differ"));
    QCOMPARE(shown.child<StoryBar>("storyBar")->nextAction(), NextAction::ShowProof);
    QVERIFY(shown.child<QAbstractButton>("exportAnyway")->isVisible());
    shown.window.actions()->undo->trigger();
    QVERIFY(!shown.window.infoBar()->isVisible());  // its cause is gone
  }

  void anotherModelReplacesTheFirst() {
    Shown shown({QStringLiteral("--slow"), QStringLiteral("open=150")});
    shown.window.openFile(model_);
    QTest::qWait(50);
    shown.window.openFile(postNormModel_);
    QTRY_VERIFY(shown.session.plan() && !shown.session.busy());
    QCOMPARE(shown.session.path(), postNormModel_);
    QCOMPARE(shown.session.analysis()->totals.blocked, 8);
    QVERIFY(!shown.window.infoBar()->isVisible());
  }

  void theFilterNarrowsTheList() {
    Shown shown(model_);
    auto* filter = shown.child<QLineEdit>("normFilter");
    QTest::keyClicks(filter, QStringLiteral("h.1 ln_2"));
    auto* list = shown.child<QTreeView>("normList");
    QCOMPARE(list->model()->rowCount(list->model()->index(0, 0)), 1);
  }

  void theTablesHeadersAreWhole() {
    Shown shown(model_);
    shown.window.workspace()->showPlace(Workspace::Place::Norms);
    const auto* header = shown.child<QTableView>("normTable")->horizontalHeader();
    QTRY_VERIFY(header->isVisible());
    constexpr int kPadding = 16, kSortArrow = 7;
    const QString words = header->model()->headerData(NormTable::InPlan, Qt::Horizontal).toString();
    const int wanted = QFontMetrics(uiFont(11, QFont::Medium)).horizontalAdvance(words) + kPadding + kSortArrow;
    QVERIFY2(header->sectionSize(NormTable::InPlan) >= wanted, qPrintable(QString::number(wanted)));
  }

  void aScreenshotIsTakenOnceTheModelIsShown() {
    MainWindow window({test::fakeEngine(), ColorScheme::Dark, false, false});
    const QString file = folder_.filePath(QStringLiteral("shot.png"));
    int status = -1;
    Screenshot screenshot(&window, {file, QSize(1200, 800), QStringLiteral("h.1.ln_2")},
                          [&](int given, const QString&) { status = given; });
    screenshot.start(model_);
    QTRY_COMPARE_WITH_TIMEOUT(status, 0, 20000);
    QCOMPARE(QImage(file).size(), QSize(1200, 800));
  }

  void aScreenshotOfNothingIsExitStatus3() {
    MainWindow window({test::fakeEngine(), ColorScheme::Light, false, false});
    int status = -1;
    QString line;
    Screenshot screenshot(&window, {folder_.filePath(QStringLiteral("none.png")), QSize(800, 600), {}},
                          [&](int given, const QString& text) {
                            status = given;
                            line = text;
                          });
    screenshot.start(folder_.filePath(QStringLiteral("missing.pt")));
    QTRY_COMPARE_WITH_TIMEOUT(status, 3, 20000);
    QVERIFY(line.contains(QStringLiteral("missing.pt")));
    QVERIFY(!QFile::exists(folder_.filePath(QStringLiteral("none.png"))));
  }

  void everyControlHasANameAndATooltip() {
    Shown shown;
    QStringList lacking;
    const auto check = [&](const QString& where) {
      QTest::qWait(50);
      for (QWidget* control : shown.window.findChildren<QWidget*>()) {
        const bool field = qobject_cast<QAbstractButton*>(control) || qobject_cast<QAbstractSpinBox*>(control) ||
                           (qobject_cast<QLineEdit*>(control) && !qobject_cast<QAbstractSpinBox*>(control->parent()));
        const bool view = qobject_cast<QAbstractItemView*>(control) && !qobject_cast<QHeaderView*>(control);
        if (!control->isVisible() || !(field || view) || control->objectName().startsWith(QLatin1String("qt_")))
          continue;
        // Parts that Qt makes: the buttons in a field, the arrows of a tab bar, the corner of a table.
        if (qobject_cast<QLineEdit*>(control->parent()) || qobject_cast<QTabBar*>(control->parent()) ||
            qobject_cast<QTableView*>(control->parent())) {
          continue;
        }
        const auto* button = qobject_cast<QAbstractButton*>(control);
        const QString what = where + u' ' + QLatin1String(control->metaObject()->className()) + u' ' +
                             control->objectName() + (button != nullptr ? u' ' + button->text() : QString());
        const bool named = !control->accessibleName().isEmpty() || (button != nullptr && !button->text().isEmpty());
        if (!named || (field && control->toolTip().isEmpty())) lacking << what;
      }
    };
    check(QStringLiteral("welcome"));
    shown.openAndAnalyse(model_);
    shown.session.selection()->selectNorm(2);
    for (QAction* panel : shown.window.actions()->panels) {
      panel->trigger();
      check(panel->objectName());
    }
    shown.session.selection()->selectNode(shown.session.index().graph().nodes[2].id);
    check(QStringLiteral("node page"));
    shown.child<QAction>("preferences")->trigger();
    check(QStringLiteral("preferences"));
    shown.child<QAction>("command")->trigger();
    check(QStringLiteral("palette"));
    lacking.removeDuplicates();
    QCOMPARE(lacking.join(u'\n'), QString());
  }

 private:
  QString postNormModel_ = test::modelFile(folder_, QStringLiteral("bert.pt"));
};

}  // namespace normlens::ui

int main(int argc, char** argv) { return normlens::test::runShellTest<normlens::ui::TestWindow>(argc, argv); }

#include "test_window.moc"
