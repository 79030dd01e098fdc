// Projects: saved, opened, a model that is gone, changed or another; and work that a window put aside before it ended,
// which is offered again, discarded, and never another window's.
#include <QComboBox>
#include <QDir>
#include <QFileInfo>
#include <QLabel>
#include <QLineEdit>
#include <QSettings>
#include <csignal>

#include "tests/support/wait_for_layout.h"
#include "tests/ui/shell/shown_window.h"
#include "ui/client/engine_client.h"
#include "ui/graphview/graph_view.h"
#include "ui/session/project_keeper.h"
#include "ui/widgets/badge.h"
#include "ui/widgets/info_bar.h"
#include "ui/window/actions.h"
#include "ui/window/frame/story_bar.h"
#include "ui/window/workspace/graph_pane.h"
#include "ui/window/workspace/workspace.h"

namespace normlens::ui {
class TestProject final : public QObject {
  Q_OBJECT

  // The files that windows keep their unsaved work in.
  // Writes what a window leaves that was killed: its file, and no one who holds its lock.
  [[nodiscard]] QString leftBehind(const Project& project) const {
    const QString orphan = QDir(recovery_).filePath(QStringLiteral("dead.normlens"));
    if (!QDir().mkpath(recovery_)) qFatal("the folder cannot be made");
    test::write(orphan, QByteArray::fromStdString(projectToJson(project)));
    return orphan;
  }
  [[nodiscard]] QStringList putAside() const {
    QStringList files;
    for (const QFileInfo& file : QDir(recovery_).entryInfoList({QStringLiteral("*.normlens")}, QDir::Files))
      files << file.filePath();
    return files;
  }

 private Q_SLOTS:
  void init() {
    QSettings().clear();
    folder_ = std::make_unique<QTemporaryDir>();
    model_ = test::modelFile(*folder_, QStringLiteral("bert.pt"));
    project_ = folder_->filePath(QStringLiteral("mine.normlens"));
    recovery_ = folder_->filePath(QStringLiteral("recovery"));
  }

  void aProjectIsAFileThatRoundTrips() {
    Project project;
    project.model = {QStringLiteral("/a/b.pt"), QStringLiteral("00ff"), 12, 34};
    project.policy = Policy::All;
    project.prices = protocol::Prices::Measured;
    project.kept = QStringList{QStringLiteral("h.0.ln_1")};
    project.centered = {{7, QStringLiteral("sum.3")}};
    project.flavour = "fast";
    project.inputs.specs = {"in_0=int64[2,8]:0..9"};
    project.view = {{"", "h.0"}, 0.5, 10, 20, QStringLiteral("ln_f")};
    project.bench = protocol::BenchResult();
    project.bench->points.emplace_back().speedup = 1.25;
    const std::string written = projectToJson(project);
    const auto read = projectFromJson(written);
    QVERIFY(read.has_value());
    QCOMPARE(projectToJson(*read), written);
    QCOMPARE(read->view.norm, QStringLiteral("ln_f"));
    QCOMPARE(read->bench->points.at(0).speedup, 1.25);
  }

  void whatIsNoProjectIsRefusedInASentence() {
    const auto error = [](const std::string& text) {
      const auto read = projectFromJson(text);
      return read ? QString() : QString::fromStdString(read.error().message);
    };
    QVERIFY(error("").contains(QStringLiteral("not a NormLens project")));
    QVERIFY(error("{\"normlens_project\": 1, \"model\": {\"path\": \"x\"").contains(QStringLiteral("truncated")));
    QVERIFY(error("{\"normlens_project\": 99}").contains(QStringLiteral("newer")));
    QVERIFY(error("{\"normlens_project\": 1, \"model\": 3}").contains(QStringLiteral("has no valid model")));
    QVERIFY(error("{\"normlens_project\": 1, \"model\": {\"path\": \"x\"}, \"plan\": {\"policy\": []}}")
                .contains(QStringLiteral("has no valid model")));
  }

  void aProjectHasItsSuffixWhateverIsTyped() {
    Shown shown(model_);
    shown.window.actions()->saveProjectAs->trigger();
    shown.answerFileDialog("projectDialog", folder_->filePath(QStringLiteral("mine.nlproj")));
    QTRY_VERIFY(QFile::exists(folder_->filePath(QStringLiteral("mine.nlproj.normlens"))));
    QVERIFY(!QFile::exists(folder_->filePath(QStringLiteral("mine.nlproj"))));
  }

  void savedAndOpenedByClicks() {
    {
      Shown shown(model_);
      shown.session.choices()->setPolicy(Policy::All);
      QTRY_VERIFY(shown.session.plan() && !shown.session.busy());
      shown.session.choices()->keepNorm(2, true);
      QTRY_VERIFY(shown.session.plan() && !shown.session.busy());
      shown.fold();
      shown.session.measure();
      QTRY_VERIFY(shown.session.measurements()->last().has_value());
      auto* view = shown.window.workspace()->graph()->view();
      QVERIFY(test::waitForLayout(*view, 5000));
      view->expandAll();
      QVERIFY(test::waitForLayout(*view, 5000));
      shown.clickNorm(5);
      QTRY_VERIFY(shown.session.selection()->zeroMean().has_value());
      QTest::keyClick(&shown.window, Qt::Key_S, Qt::ControlModifier);
      shown.answerFileDialog("projectDialog", project_);
      QTRY_VERIFY(QFile::exists(project_));
      QVERIFY(shown.says(QStringLiteral("Saved")));
      QVERIFY(shown.window.windowTitle().startsWith(QStringLiteral("mine (bert.pt)")));
      QVERIFY(!shown.window.project()->dirty());
      shown.session.choices()->keepNorm(3, true);
      QVERIFY(shown.window.project()->dirty());
    }
    Shown shown;
    shown.click("openButton");
    shown.answerFileDialog("openDialog", project_);
    QTRY_VERIFY(shown.session.plan() && !shown.session.busy());
    QCOMPARE(shown.session.path(), model_);
    QCOMPARE(shown.session.choices()->params().policy, Policy::All);
    QCOMPARE(shown.session.choices()->params().keep_norms, std::vector<int>{2});
    QCOMPARE(shown.session.plan()->folded.size(), size_t{8});
    QCOMPARE(shown.session.selection()->current().norm, 5);
    QVERIFY(shown.session.measurements()->last().has_value());
    QVERIFY(!shown.window.infoBar()->isVisible());
    QVERIFY(!shown.window.project()->dirty());
    // The next save needs no question.
    shown.session.choices()->keepNorm(4, true);
    QTRY_VERIFY(shown.session.plan() && !shown.session.busy());
    shown.window.activateWindow();
    QVERIFY(QTest::qWaitForWindowActive(&shown.window));
    QTest::keyClick(&shown.window, Qt::Key_S, Qt::ControlModifier);
    QTRY_VERIFY(test::contentOf(project_).contains("layer.1.output_norm"));
  }

  // Anybody may have written the file: it tells when its plan was proved, and that is no proof.
  void aProjectTellsWhenItsPlanWasProved() {
    {
      Shown shown(model_);
      shown.click("nextAction");
      QTRY_VERIFY(shown.session.foldResult() && !shown.session.busy());
      QTest::keyClick(&shown.window, Qt::Key_S, Qt::ControlModifier);
      shown.answerFileDialog("projectDialog", project_);
      QTRY_VERIFY(QFile::exists(project_));
    }
    QByteArray written = test::contentOf(project_);
    QVERIFY(written.contains("2026-11-30T12:00:00Z"));
    test::write(project_, written.replace("2026-11-30T12:00:00Z", "2026-11-28T12:00:00Z"));
    Shown shown;
    shown.click("openButton");
    shown.answerFileDialog("openDialog", project_);
    QTRY_VERIFY(shown.session.plan() && !shown.session.busy() && !shown.session.restoring());
    const QString told = shown.child<QLabel>("proofEmpty")->text();
    QVERIFY2(told.startsWith(QStringLiteral("The project says that its plan was proved on Nov 28, 2026")),
             qPrintable(told));
    QVERIFY(!shown.session.foldResult() && !shown.window.project()->dirty());
    shown.click("nextAction");
    QTRY_VERIFY(shown.session.foldResult() && !shown.session.busy());
    QCOMPARE(shown.session.foldResult()->proved, std::string("2026-11-30T12:00:00Z"));
    QVERIFY(shown.window.project()->dirty());
  }

  void theViewIsAsItWas() {
    Shown shown(model_);
    auto* view = shown.window.workspace()->graph()->view();
    QVERIFY(test::waitForLayout(*view, 5000));
    view->expandAll();
    QVERIFY(test::waitForLayout(*view, 5000));
    view->setZoom(0.37);
    QTest::qWait(400);
    const auto before = view->place();
    QVERIFY(before.openGroups.size() > 4);
    QVERIFY(shown.window.project()->save(project_).has_value());
    shown.openAndAnalyse(test::modelFile(*folder_));
    shown.openAndAnalyse(project_);
    QTRY_COMPARE(view->place().openGroups, before.openGroups);
    QTRY_VERIFY(qAbs(view->place().zoom - before.zoom) < 1e-9);
    QTRY_VERIFY((view->place().center - before.center).manhattanLength() < 1);
  }

  void aModelThatIsGoneIsLocated() {
    Shown first;
    first.openAndAnalyse(model_);
    first.session.choices()->setPolicy(Policy::All);
    QTRY_VERIFY(first.session.plan() && !first.session.busy());
    QVERIFY(first.window.project()->save(project_).has_value());
    const QString moved = folder_->filePath(QStringLiteral("elsewhere/bert_moved.pt"));
    QVERIFY(QDir(folder_->path()).mkpath(QStringLiteral("elsewhere")));
    first.session.close();
    QVERIFY(QFile::rename(model_, moved));

    Shown shown;
    shown.window.openFile(project_);
    QVERIFY(shown.says(QStringLiteral("no longer exists")));
    QVERIFY(!shown.session.model().has_value());
    shown.click("infoAction");
    shown.answerFileDialog("locateDialog", moved);
    QTRY_VERIFY(shown.session.plan() && !shown.session.busy());
    QCOMPARE(shown.session.path(), moved);
    QCOMPARE(shown.session.choices()->params().policy, Policy::All);
    QVERIFY(shown.window.windowTitle().startsWith(QStringLiteral("mine")));
  }

  void aProjectWhoseModelIsGoneTakesNothingFromTheOneOpen() {
    Project project;
    project.model.path = folder_->filePath(QStringLiteral("nowhere.pt"));
    project.policy = Policy::All;
    QVERIFY(saveProject(project_, project).has_value());
    Shown shown(model_);
    shown.window.openFile(project_);
    QVERIFY(shown.says(QStringLiteral("no longer exists")));
    QCOMPARE(shown.window.project()->path(), QString());
    QVERIFY(shown.window.windowTitle().startsWith(QStringLiteral("bert.pt")));
    test::write(model_, "written by somebody else");
    QTRY_VERIFY(shown.says(QStringLiteral("changed on disk")));
    shown.click("infoAction");
    QTRY_VERIFY(shown.session.plan() && !shown.session.busy());
    QCOMPARE(shown.session.path(), model_);
    QCOMPARE(shown.session.choices()->params().policy, protocol::PlanParams().policy);
  }

  void aModelBesideItsProjectMayMoveWithIt() {
    Shown shown(model_);
    QVERIFY(shown.window.project()->save(project_).has_value());
    const QString other = folder_->filePath(QStringLiteral("other"));
    QVERIFY(QDir().mkpath(other));
    QVERIFY(QFile::copy(model_, other + QStringLiteral("/bert.pt")));
    QVERIFY(QFile::copy(project_, other + QStringLiteral("/mine.normlens")));
    const auto loaded = loadProject(other + QStringLiteral("/mine.normlens"));
    QVERIFY(loaded.has_value());
    QCOMPARE(loaded->model.path, QFileInfo(other + QStringLiteral("/bert.pt")).canonicalFilePath());
  }

  void aModelThatIsAnotherIsTold() {
    {
      Shown shown;
      test::write(model_, "the first content");
      shown.openAndAnalyse(model_);
      shown.session.choices()->keepNorm(0, true);
      QTRY_VERIFY(shown.session.plan() && !shown.session.busy());
      // The hash is there a moment after the model.
      QTRY_VERIFY(shown.window.project()->save(project_).has_value() &&
                  test::contentOf(project_).contains("\"xxh3\": \"") &&
                  !test::contentOf(project_).contains("\"xxh3\": \"\""));
    }
    test::write(model_, "other content");
    Shown shown;
    shown.window.openFile(project_);
    QTRY_VERIFY(shown.says(QStringLiteral("has changed since this project was saved")));
    QTRY_VERIFY(shown.session.plan() && !shown.session.busy());
    QCOMPARE(shown.session.choices()->params().keep_norms, std::vector<int>{0});
  }

  void whatThePlanNamesAndTheModelLacksIsTold() {
    Project project;
    project.model.path = model_;
    project.policy = Policy::All;
    project.kept = QStringList{QStringLiteral("layer.0.output_norm"), QStringLiteral("no.such_norm")};
    project.flavour = "portable";
    QVERIFY(saveProject(project_, project).has_value());
    Shown shown;
    shown.window.openFile(project_);
    QTRY_VERIFY(shown.says(QStringLiteral("no.such_norm")));
    QCOMPARE(shown.session.choices()->params().keep_norms, std::vector<int>{2});
  }

  void aModelThatChangesOnTheDiskIsReloaded() {
    Shown shown(model_);
    shown.session.choices()->setPolicy(Policy::All);
    QTRY_VERIFY(shown.session.plan() && !shown.session.busy());
    test::write(model_, "written by somebody else");
    QTRY_VERIFY(shown.says(QStringLiteral("changed on disk")));
    shown.click("infoAction");
    QTRY_VERIFY(shown.session.plan() && !shown.session.busy());
    QCOMPARE(shown.session.choices()->params().policy, Policy::All);
    QVERIFY(!shown.window.infoBar()->isVisible());
    QVERIFY(QFile::remove(model_));
    QTRY_VERIFY(shown.says(QStringLiteral("moved or removed")));
  }

  // The engine lost the model, and the file is another when it is opened again.
  void aModelThatIsOpenedAgainKeepsItsProject() {
    Shown shown(model_);
    shown.session.choices()->setPolicy(Policy::All);
    QTRY_VERIFY(shown.session.plan() && !shown.session.busy());
    QVERIFY(shown.window.project()->save(project_).has_value());
    auto* view = shown.window.workspace()->graph()->view();
    view->setAnimated(false);
    QTRY_VERIFY(view->isLaidOut());
    view->setZoom(2);
    const QPointF center = view->place().center;
    QVERIFY(QFile::remove(model_));
    shown.window.actions()->restartEngine->trigger();
    QTRY_VERIFY(shown.window.infoBar()->showsError() && !shown.session.busy() && !shown.session.served());
    test::write(model_, "written by somebody else");
    QTRY_VERIFY(shown.says(QStringLiteral("changed on disk")));
    QCOMPARE(shown.child<StoryBar>("storyBar")->nextAction(), NextAction::Resume);
    shown.click("nextAction");
    QTRY_VERIFY(shown.session.served() && shown.session.plan() && !shown.session.busy());
    QCOMPARE(shown.session.choices()->params().policy, Policy::All);
    QCOMPARE(shown.window.project()->path(), project_);
    QVERIFY(!shown.window.project()->dirty());
    QTRY_COMPARE(view->place().zoom, 2.0);
    QCOMPARE(view->place().center, center);
    QVERIFY(!shown.window.infoBar()->isVisible());
  }

  // The engine maps the file: the file's own removal is not reported before the map goes.
  void aModelThatIsMappedIsSeenToBeRemoved() {
    Shown shown(model_);
    QFile held(model_);
    QVERIFY(held.open(QIODevice::ReadOnly) && held.map(0, 1) != nullptr);
    QVERIFY(QFile::remove(model_));
    QTRY_VERIFY(shown.says(QStringLiteral("moved or removed")));
    shown.window.infoBar()->dismiss();
    test::write(folder_->filePath(QStringLiteral("neighbor.txt")), "of no interest");
    QTest::qWait(800);
    QVERIFY2(!shown.window.infoBar()->isVisible(), "it is said once");
  }

  void aReloadDuringAReloadKeepsThePlan() {
    Shown shown(model_, {QStringLiteral("--slow"), QStringLiteral("analyze=300")});
    shown.session.choices()->setPolicy(Policy::All);
    QTRY_VERIFY(shown.session.plan() && !shown.session.busy());
    test::write(model_, "written by somebody else");
    QTRY_VERIFY(shown.says(QStringLiteral("changed on disk")));
    shown.click("infoAction");
    QTRY_COMPARE(shown.session.job().kind, JobKind::Analyzing);
    shown.window.project()->reload(model_);
    QTRY_VERIFY(shown.session.plan() && !shown.session.busy());
    QCOMPARE(shown.session.choices()->params().policy, Policy::All);
  }

  void aReloadLeavesWhatWasNotSavedUnsaved() {
    Shown shown(model_);
    QVERIFY(shown.window.project()->save(project_).has_value());
    shown.session.choices()->setPolicy(Policy::All);
    QTRY_VERIFY(shown.session.plan() && !shown.session.busy());
    shown.window.project()->reload(model_);
    QTRY_VERIFY(shown.session.plan() && !shown.session.busy());
    QCOMPARE(shown.window.project()->path(), project_);
    QCOMPARE(shown.session.choices()->params().policy, Policy::All);
    QVERIFY(shown.window.project()->dirty());
  }

  void theProjectOutlivesTheEngine() {
    Shown shown(model_);
    QVERIFY(shown.window.project()->save(project_).has_value());
    ::kill(static_cast<pid_t>(shown.window.engine()->processId()), SIGKILL);
    QTRY_VERIFY(shown.window.infoBar()->showsError());
    shown.click("infoAction");
    QTRY_VERIFY(shown.session.plan() && !shown.session.busy());
    QCOMPARE(shown.window.project()->path(), project_);
    QVERIFY(!shown.window.project()->dirty());
  }

  void workIsRecoveredAfterACrash() {
    Project project;
    project.model.path = model_;
    project.policy = Policy::All;
    project.kept = QStringList{QStringLiteral("embeddings_norm")};
    project.flavour = "portable";
    const QString orphan = leftBehind(project);

    Shown shown({}, false, recovery_);
    QTRY_VERIFY(shown.says(QStringLiteral("You have unsaved work on bert.pt from last time")));
    shown.click("infoAction");
    QTRY_VERIFY(shown.session.plan() && !shown.session.busy());
    QCOMPARE(shown.session.choices()->params().policy, Policy::All);
    QCOMPARE(shown.session.choices()->params().keep_norms, std::vector<int>{0});
    QVERIFY(!QFile::exists(orphan));
    QCOMPARE(putAside().size(), 1);  // a second crash loses nothing
  }

  void theOfferStaysWhenAModelIsOpened() {
    Project project;
    project.model.path = model_;
    const QString orphan = leftBehind(project);
    Shown shown({}, false, recovery_);
    QTRY_VERIFY(shown.says(QStringLiteral("You have unsaved work on bert.pt from last time")));
    shown.session.open(test::modelFile(*folder_, QStringLiteral("several.pt2")));
    QTRY_VERIFY(shown.session.plan().has_value());
    QVERIFY2(!shown.session.model()->note.empty(), "a message of its own");
    QVERIFY(shown.says(QStringLiteral("You have unsaved work on bert.pt from last time")));
  }

  void whatAnotherWindowRestoredIsNotOfferedTwice() {
    Project project;
    project.model.path = model_;
    const QString orphan = leftBehind(project);
    Shown shown({}, false, recovery_);
    QTRY_VERIFY(shown.says(QStringLiteral("You have unsaved work on bert.pt from last time")));
    Recovery::discard(orphan);
    shown.click("infoAction");
    QCOMPARE(shown.window.infoBar()->message(), QStringLiteral("Another window has restored bert.pt."));
    QVERIFY(!shown.window.infoBar()->showsError());
  }

  void recoveryMayBeDiscarded() {
    Project project;
    project.model.path = model_;
    project.policy = Policy::All;
    const QString orphan = leftBehind(project);
    Shown shown({}, false, recovery_);
    QTRY_VERIFY(shown.window.infoBar()->isVisible());
    shown.click("infoOther");
    QVERIFY(!QFile::exists(orphan));
    QVERIFY(!shown.window.infoBar()->isVisible());
  }

  void onlyTouchedWorkIsPutAsideAndAnOrderlyEndLeavesNothing() {
    {
      Shown shown(model_, {}, false, recovery_);
      shown.window.project()->putAside();
      QVERIFY(putAside().isEmpty());
      shown.session.choices()->setPolicy(Policy::All);
      QTRY_VERIFY(shown.session.plan() && !shown.session.busy());
      shown.window.project()->putAside();
      QCOMPARE(putAside().size(), 1);
      QVERIFY(test::contentOf(putAside().first()).contains("\"policy\": \"all\""));
      // Another window that starts now does not take it for an orphan.
      QVERIFY(Recovery(recovery_).orphans().isEmpty());
    }
    QVERIFY(putAside().isEmpty());
    QVERIFY(Recovery(recovery_).orphans().isEmpty());
  }

  void changesOfAProjectThatWereNotSavedAreOfferedAgain() {
    {
      Shown shown(model_, {}, false, recovery_);
      QVERIFY(shown.window.project()->save(project_).has_value());
      shown.session.choices()->setPolicy(Policy::All);
      QTRY_VERIFY(shown.session.plan() && !shown.session.busy());
      shown.window.close();
    }
    QCOMPARE(Recovery(recovery_).orphans().size(), 1);
    Shown shown({}, false, recovery_);
    QTRY_VERIFY(shown.says(QStringLiteral("unsaved work")));
    shown.click("infoAction");
    QTRY_VERIFY(shown.session.plan() && !shown.session.busy());
    QCOMPARE(shown.session.choices()->params().policy, Policy::All);
  }

  void changesOfAProjectAreOfferedAgainWhenAnotherModelFollows() {
    Shown shown(model_, {}, false, recovery_);
    QVERIFY(shown.window.project()->save(project_).has_value());
    shown.session.choices()->setPolicy(Policy::All);
    QTRY_VERIFY(shown.session.plan() && !shown.session.busy());
    shown.window.openFile(folder_->filePath(QStringLiteral("missing.pt")));
    QTRY_VERIFY(shown.window.infoBar()->showsError() && !shown.session.busy());
    QCOMPARE(shown.window.project()->path(), project_);
    QVERIFY(shown.window.project()->dirty());
    QVERIFY(Recovery(recovery_).orphans().isEmpty());
    shown.openAndAnalyse(test::modelFile(*folder_));
    QCOMPARE(shown.window.project()->path(), QString());
    const QStringList orphans = Recovery(recovery_).orphans();
    QCOMPARE(orphans.size(), 1);
    QVERIFY(test::contentOf(orphans.first()).contains("\"policy\": \"all\""));
    // What comes next is put aside beside it.
    shown.session.choices()->keepNorm(0, true);
    QTRY_VERIFY(shown.session.plan() && !shown.session.busy());
    shown.window.project()->putAside();
    QCOMPARE(putAside().size(), 2);
  }

  void eachModelOfAFileHasItsOwnWork() {
    Shown shown(test::modelFile(*folder_, QStringLiteral("several.pt2")), {}, false, recovery_);
    const auto openWith = [&](const QString& name, Policy policy) {
      auto* choice = shown.child<QComboBox>("modelChoice");
      choice->setCurrentText(name);
      Q_EMIT choice->activated(choice->currentIndex());
      if (!QTest::qWaitFor([&] { return shown.session.modelName() == name && shown.session.plan(); })) return false;
      return shown.session.choices()->params().policy == policy;
    };
    const auto work = [&](Policy policy) {
      shown.session.choices()->setPolicy(policy);
      return QTest::qWaitFor([&] { return shown.session.plan() && !shown.session.busy(); });
    };
    QVERIFY(work(Policy::All));
    QVERIFY(openWith(QStringLiteral("encode"), Policy::Balanced));
    QVERIFY(work(Policy::Free));
    QVERIFY(openWith(QStringLiteral("decode"), Policy::All));
    QVERIFY(openWith(QStringLiteral("encode"), Policy::Free));
  }

  void aProjectIsRestoredByAnEngineThatDiedOverIt() {
    Project project;
    project.model.path = model_;
    project.policy = Policy::All;
    project.kept = QStringList{QStringLiteral("layer.0.output_norm")};
    project.flavour = "portable";
    project.inputs.specs = {"in_0=int64[2,8]:0..9"};
    QVERIFY(saveProject(project_, project).has_value());
    for (const char* method : {"open", "analyze", "plan"}) {
      const QString flag = test::modelFile(*folder_, QStringLiteral("crash.flag"));
      Shown shown({QStringLiteral("--crash"), QLatin1String(method), QStringLiteral("--while"), flag});
      shown.window.openFile(project_);
      QTRY_VERIFY2(shown.window.infoBar()->showsError(), method);
      shown.click("infoAction");
      QTRY_VERIFY2(shown.session.plan() && !shown.session.busy(), method);
      QCOMPARE(shown.session.choices()->params().policy, Policy::All);
      QCOMPARE(shown.session.choices()->params().keep_norms, std::vector<int>{2});
      QCOMPARE(shown.session.inputs().specs.size(), size_t{1});
      QCOMPARE(shown.window.project()->path(), project_);
      QVERIFY2(!shown.window.project()->dirty(), method);
      shown.session.choices()->setPolicy(Policy::Free);
      QVERIFY2(shown.window.project()->dirty(), method);  // it knows what the file holds
    }
  }

 private:
  std::unique_ptr<QTemporaryDir> folder_;
  QString model_, project_, recovery_;
};

}  // namespace normlens::ui

int main(int argc, char** argv) { return normlens::test::runShellTest<normlens::ui::TestProject>(argc, argv); }

#include "test_project.moc"
