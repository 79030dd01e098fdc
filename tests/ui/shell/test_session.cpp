// What stays when a model cannot be opened, when the engine goes, and when one model follows another.
#include <QComboBox>
#include <QLabel>
#include <csignal>

#include "tests/ui/shell/shown_window.h"
#include "ui/client/engine_client.h"
#include "ui/session/project/project.h"
#include "ui/session/project_keeper.h"
#include "ui/widgets/info_bar.h"
#include "ui/window/actions.h"
#include "ui/window/frame/story_bar.h"
#include "ui/window/workspace/workspace.h"

namespace normlens::ui {

class TestSession final : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void init() {
    gpt2_ = test::modelFile(folder_);
    bert_ = test::modelFile(folder_, QStringLiteral("bert.pt"));
    missing_ = folder_.filePath(QStringLiteral("missing.pt"));
  }

  void aModelThatCannotBeOpenedLeavesTheOneThatIs() {
    Shown shown(bert_);
    foldAll(shown);
    shown.fold();
    shown.window.openFile(missing_);
    QTRY_VERIFY(shown.window.infoBar()->showsError() && !shown.session.busy());
    QVERIFY(shown.window.infoBar()->message().contains(QStringLiteral("missing.pt")));
    QVERIFY(shown.window.workspace()->isVisible());
    QCOMPARE(shown.session.path(), bert_);
    QCOMPARE(shown.session.plan()->folded.size(), size_t{9});
    QVERIFY(shown.session.foldResult().has_value());
    shown.window.actions()->undo->trigger();  // Fold
    QVERIFY(!shown.session.foldResult());
    shown.window.actions()->undo->trigger();  // the engine has it still
    QTRY_VERIFY(shown.session.plan() && shown.session.plan()->folded.size() == 1);
  }

  // "Ctrl+Z takes it back": Fold is a step, and its proof comes back with the plan that it belongs to.
  void foldIsTakenBackAndItsProofComesBackWithItsPlan() {
    Shown shown(gpt2_);
    Session& session = shown.session;
    const auto marks = [&] { return session.planMarks(); };
    QVERIFY(!marks().empty() && marks()[0].state == PlanState::Planned);
    session.fold();
    QTRY_VERIFY(session.foldResult() && !session.busy());
    QCOMPARE(marks()[0].state, PlanState::Folded);
    QVERIFY(shown.window.actions()->undo->text().contains(QStringLiteral("fold 9 LayerNorms")));
    const double proved = session.foldResult()->verify->algebra.max_rel;
    session.exportTo(folder_.filePath(QStringLiteral("folded.pt")));
    QTRY_VERIFY(session.exported() && !session.busy());
    shown.window.actions()->undo->trigger();
    QVERIFY(!session.foldResult() && !session.exported() && session.keepsProof());
    auto* step = shown.child<QAbstractButton>("storyProved");
    QVERIFY2(step->toolTip().contains(QStringLiteral("Fold it again")), qPrintable(step->toolTip()));
    QCOMPARE(step->accessibleName(), QStringLiteral("Proved: proved before"));  // it is the plan that was proved
    QCOMPARE(marks()[0].state, PlanState::Planned);
    shown.window.actions()->redo->trigger();
    QVERIFY(session.foldResult());
    QCOMPARE(session.foldResult()->verify->algebra.max_rel, proved);
    QVERIFY2(session.exported(), "what was written is of that plan, too");
    QTRY_VERIFY(!session.busy());  // the engine has made it again
    session.choices()->keepNorm(0, true);
    QTRY_VERIFY(session.plan() && session.plan()->folded.size() == 8 && !session.busy());
    QVERIFY(!session.foldResult());
    QVERIFY2(step->toolTip().contains(QStringLiteral("Undo restores it")), qPrintable(step->toolTip()));
    QCOMPARE(step->accessibleName(), QStringLiteral("Proved: not this plan"));
    QCOMPARE(marks()[0].state, PlanState::Kept);
    shown.window.actions()->undo->trigger();
    QTRY_VERIFY(session.foldResult() && !session.busy());
    QCOMPARE(marks()[0].state, PlanState::Folded);
    session.setInputs(session.inputs());  // the same: what was proved stands
    QTRY_VERIFY(session.plan() && !session.busy());
    QVERIFY(session.foldResult() && session.exported());
    protocol::InputsParams other;
    other.specs = {"in_0=int64[3,7]:0..100"};
    session.setInputs(other);
    QTRY_VERIFY(session.plan() && !session.busy() && !session.inputs().specs.empty());
    QVERIFY(!session.foldResult() && !session.keepsProof());
    QVERIFY2(!session.choices()->folded(), "there is no fold to undo");
    QVERIFY(shown.window.actions()->redo->text().contains(QStringLiteral("fold 9 LayerNorms")));
    shown.window.actions()->redo->trigger();  // proves it with these
    QTRY_VERIFY(session.foldResult() && !session.busy());
  }

  void anOlderProofIsShownUntilThereIsAnother() {
    Shown shown(bert_, {QStringLiteral("--slow"), QStringLiteral("fold=300")});
    shown.session.fold();
    QVERIFY(!shown.session.foldResult());
    QTRY_VERIFY(shown.session.foldResult() && !shown.session.busy());
    shown.session.measure();
    QTRY_VERIFY(shown.session.measurements()->last() && !shown.session.busy());
    shown.session.fold();
    QVERIFY(shown.session.foldResult() && shown.session.measurements()->last());
    QTRY_VERIFY(!shown.session.busy());
    QVERIFY(shown.session.foldResult());
    QVERIFY2(!shown.session.measurements()->last(), "it is an earlier run by now");
    QCOMPARE(shown.session.measurements()->earlier().size(), size_t{1});
    // After one that is stopped the engine makes the fold anew, and what was proved is proved.
    shown.session.fold();
    shown.session.cancel();
    QTRY_COMPARE(shown.session.job().stage, QString());
    QTRY_VERIFY(!shown.session.busy());
    QVERIFY(shown.session.foldResult() && shown.session.canMeasure());
  }

  void undoAndRedoBringAMeasurementBackWithItsProof() {
    Shown shown(bert_);
    Measurements& measurements = *shown.session.measurements();
    foldAll(shown);
    shown.fold();
    shown.session.measure();
    QTRY_VERIFY(measurements.last() && !shown.session.busy());
    const double speedup = measurements.last()->points.front().speedup;
    shown.window.actions()->undo->trigger();
    QTRY_VERIFY(!shown.session.foldResult() && !shown.session.busy());
    QVERIFY(!measurements.last());
    QCOMPARE(measurements.earlier().size(), size_t{1});
    shown.window.actions()->redo->trigger();
    QTRY_VERIFY(shown.session.foldResult() && measurements.last());
    QCOMPARE(measurements.last()->points.front().speedup, speedup);
    QVERIFY2(measurements.earlier().empty(), "it is there once");
  }

  void anOpeningThatIsStoppedLeavesTheModelThatIs() {
    Shown shown(bert_, {QStringLiteral("--slow"), QStringLiteral("open=300")});
    foldAll(shown);
    shown.window.openFile(gpt2_);
    QCOMPARE(shown.session.job().kind, JobKind::Opening);
    QVERIFY(!shown.window.actions()->foldAll->isEnabled());
    QTest::qWait(50);
    shown.session.cancel();
    QTRY_VERIFY(shown.session.served() && shown.session.plan() && !shown.session.busy());
    QVERIFY(!shown.window.infoBar()->isVisible());
    QCOMPARE(shown.session.path(), bert_);
    QCOMPARE(shown.session.plan()->folded.size(), size_t{9});
    QVERIFY(shown.session.choices()->undoStack()->canUndo());
  }

  void aModelThatCannotBeReopenedIsKeptUntilItCan() {
    Shown shown(bert_);
    foldAll(shown);
    const QString away = folder_.filePath(QStringLiteral("away.pt"));
    QVERIFY(QFile::rename(bert_, away));
    shown.session.recover();
    QTRY_VERIFY(shown.window.infoBar()->showsError() && !shown.session.busy());
    QVERIFY(!shown.session.served());
    QVERIFY(!shown.window.actions()->fold->isEnabled());
    QVERIFY(shown.window.actions()->saveProject->isEnabled());
    QCOMPARE(shown.child<StoryBar>("storyBar")->nextAction(), NextAction::Resume);
    QVERIFY(QFile::rename(away, bert_));
    shown.click("nextAction");
    QTRY_VERIFY(shown.session.served() && shown.session.plan() && !shown.session.busy());
    QCOMPARE(shown.session.plan()->folded.size(), size_t{9});
  }

  void aPlanChangedWhileTheModelIsReopenedIsMadeThereafter() {
    const QString flag = test::modelFile(folder_, QStringLiteral("crash.flag"));
    Shown shown({QStringLiteral("--crash"), QStringLiteral("fold"), QStringLiteral("--while"), flag,
                 QStringLiteral("--slow"), QStringLiteral("open=300")});
    shown.openAndAnalyse(bert_);
    foldAll(shown);
    shown.session.fold();
    QTRY_VERIFY(shown.window.infoBar()->showsError());
    shown.click("infoAction");
    QCOMPARE(shown.session.job().kind, JobKind::Opening);
    shown.window.actions()->undo->trigger();
    QCOMPARE(shown.session.job().kind, JobKind::Opening);
    QTRY_VERIFY(shown.session.plan() && !shown.session.busy());
    QCOMPARE(shown.session.choices()->params().policy, protocol::PlanParams().policy);
    QCOMPARE(shown.session.plan()->folded.size(), size_t{1});
  }

  void theFlavourGoesWithItsModel() {
    Project project;
    project.model.path = bert_;
    project.policy = Policy::All;
    project.flavour = "fast";
    const QString file = folder_.filePath(QStringLiteral("fast.normlens"));
    QVERIFY(saveProject(file, project).has_value());
    Shown shown;
    shown.openAndAnalyse(file);
    QCOMPARE(shown.session.flavour(), std::string("fast"));
    shown.openAndAnalyse(gpt2_);
    QCOMPARE(shown.session.flavour(), std::string("portable"));
  }

  void ofSeveralModelsOneIsChosenAndStays() {
    const QString several = test::modelFile(folder_, QStringLiteral("several.pt2"));
    const QString file = folder_.filePath(QStringLiteral("second.normlens"));
    {
      Shown shown(several);
      auto* choice = shown.child<QComboBox>("modelChoice");
      QVERIFY(choice->isVisible());
      QCOMPARE(choice->currentText(), QStringLiteral("decode"));
      QCOMPARE(shown.session.plan()->folded.size(), size_t{9});
      choose(choice, QStringLiteral("encode"));
      QTRY_VERIFY(isSecond(shown));
      QVERIFY(shown.child<QLabel>("modelNote")->text().contains(QStringLiteral("this is 'encode'")));
      QCOMPARE(shown.window.windowTitle(), QStringLiteral("several.pt2 · encode – NormLens"));
      shown.session.choices()->setPolicy(Policy::All);
      QTRY_VERIFY(shown.session.plan() && !shown.session.busy());
      ::kill(static_cast<pid_t>(shown.window.engine()->processId()), SIGKILL);
      QTRY_VERIFY(shown.window.infoBar()->showsError());
      shown.click("infoAction");
      QTRY_VERIFY(shown.session.served() && shown.session.plan() && !shown.session.busy());
      QCOMPARE(shown.session.modelName(), QStringLiteral("encode"));
      QCOMPARE(shown.session.choices()->params().policy, Policy::All);
      QVERIFY(shown.window.project()->save(file).has_value());
      test::write(several, "written by somebody else");
      QTRY_VERIFY(shown.says(QStringLiteral("changed on disk")));
      shown.click("infoAction");
      QTRY_VERIFY(shown.session.plan() && !shown.session.busy());
      QCOMPARE(shown.session.modelName(), QStringLiteral("encode"));
      QCOMPARE(shown.session.choices()->params().policy, Policy::All);
    }
    Shown shown(file);
    QCOMPARE(shown.session.modelName(), QStringLiteral("encode"));
    QCOMPARE(shown.child<QComboBox>("modelChoice")->currentText(), QStringLiteral("encode"));
  }

  void whatWasWrittenIsOpenedAtTheModelThatWasFolded() {
    Shown shown(test::modelFile(folder_, QStringLiteral("several.pt2")));
    choose(shown.child<QComboBox>("modelChoice"), QStringLiteral("encode"));
    QTRY_VERIFY(isSecond(shown));
    shown.fold();
    const QString written = folder_.filePath(QStringLiteral("several_folded.pt2"));
    shown.click("exportButton");
    shown.child<QLineEdit>("exportFile")->setText(written);
    shown.click("exportWrite");
    QTRY_VERIFY(shown.says(QStringLiteral("several_folded.pt2")));
    shown.click("infoAction");
    QTRY_VERIFY(shown.session.path() == written && shown.session.plan() && !shown.session.busy());
    QCOMPARE(shown.session.modelName(), QStringLiteral("encode"));
  }

  void aChoiceOfModelThatFailsIsTakenBack() {
    Shown shown(test::modelFile(folder_, QStringLiteral("several.pt2")),
                {QStringLiteral("--slow"), QStringLiteral("open=300")});
    auto* choice = shown.child<QComboBox>("modelChoice");
    choose(choice, QStringLiteral("encode"));
    QCOMPARE(shown.session.job().kind, JobKind::Opening);
    shown.session.cancel();
    QTRY_VERIFY(shown.session.served() && shown.session.plan() && !shown.session.busy());
    QCOMPARE(shown.session.modelName(), QStringLiteral("decode"));
    QCOMPARE(choice->currentText(), QStringLiteral("decode"));
  }

  void eachOfSeveralModelsHasItsOwnInputs() {
    Shown shown(test::modelFile(folder_, QStringLiteral("several.pt2")));
    protocol::InputsParams inputs;
    inputs.specs = {"in_0=int64[2,8]:0..9"};
    shown.session.setInputs(inputs);
    QTRY_VERIFY(shown.session.plan() && !shown.session.busy());
    auto* choice = shown.child<QComboBox>("modelChoice");
    choose(choice, QStringLiteral("encode"));
    QTRY_VERIFY(isSecond(shown));
    QVERIFY(shown.session.inputs().specs.empty());
    choose(choice, QStringLiteral("decode"));
    QTRY_VERIFY(shown.session.modelName() == QStringLiteral("decode") && shown.session.plan());
    QCOMPARE(shown.session.inputs().specs, inputs.specs);
  }

  void aFileOfOneModelOffersNoChoice() {
    Shown shown(gpt2_);
    QVERIFY(!shown.child<QComboBox>("modelChoice")->isVisible());
  }

 private:
  static void choose(QComboBox* choice, const QString& name) {
    choice->setCurrentText(name);
    Q_EMIT choice->activated(choice->currentIndex());
  }
  // An encoder, of whose norms one folds free.
  static bool isSecond(Shown& shown) {
    return shown.session.modelName() == QStringLiteral("encode") && shown.session.plan() &&
           shown.session.plan()->folded.size() == 1 && !shown.session.busy();
  }
  static void foldAll(Shown& shown) {
    shown.session.choices()->setPolicy(Policy::All);
    QTRY_VERIFY(shown.session.plan() && !shown.session.busy());
  }

  QTemporaryDir folder_;
  QString gpt2_, bert_, missing_;
};

}  // namespace normlens::ui

int main(int argc, char** argv) { return normlens::test::runShellTest<normlens::ui::TestSession>(argc, argv); }

#include "test_session.moc"
