// Verdicts by inferred shapes are shown before the run that confirms them, and say so.
#include <QLabel>
#include <QMenu>
#include <QPushButton>

#include "tests/ui/shell/shown_window.h"
#include "ui/models/norm_model.h"
#include "ui/window/actions.h"
#include "ui/window/frame/story.h"
#include "ui/window/workspace/workspace.h"

namespace normlens::ui {

class TestConfirmation final : public test::ModelTest {
  Q_OBJECT

 private Q_SLOTS:
  void verdictsAreThereBeforeTheRunAndSayThatItComes() {
    Shown shown(model_, {QStringLiteral("--early"), QStringLiteral("60000")});
    QTRY_VERIFY(shown.session.plan().has_value());
    QVERIFY(shown.session.early());
    QCOMPARE(shown.session.confirmation().kind, JobKind::Confirming);
    QVERIFY(storyOf(shown.session).steps[StoryFoldable].early);
    QVERIFY(!shown.session.busy());
    QTRY_VERIFY(shown.window.findChild<QLabel*>(QStringLiteral("jobStage"))
                    ->accessibleName()
                    .startsWith(QStringLiteral("Confirming inferred shapes")));
    QCOMPARE(verdictIcon(Verdict::Free, true), QStringLiteral("free_early"));
  }

  void theRunThatAgreesChangesNothingElse() {
    Shown shown({QStringLiteral("--early"), QStringLiteral("50")});
    const QSignalSpy confirmed(&shown.session, &Session::confirmed);
    shown.openAndAnalyse(model_);
    QTRY_COMPARE(confirmed.count(), 1);
    QVERIFY(confirmed[0][0].toStringList().isEmpty());
    QVERIFY(!shown.session.early());
    QVERIFY(shown.session.plan().has_value());
    QCOMPARE(shown.session.confirmation().kind, JobKind::None);
  }

  void aRunThatDisagreesTellsWhichVerdictsChanged() {
    Shown shown({QStringLiteral("--early"), QStringLiteral("50"), QStringLiteral("--surprise"), QStringLiteral("2")});
    const QSignalSpy confirmed(&shown.session, &Session::confirmed);
    shown.openAndAnalyse(model_);
    QTRY_COMPARE(confirmed.count(), 1);
    QCOMPARE(confirmed[0][0].toStringList().size(), 1);
    QCOMPARE(confirmed[0][0].toStringList()[0].toStdString(), shown.session.norm(2)->name);
    QTRY_VERIFY(shown.session.plan().has_value());
    QCOMPARE(shown.session.norm(2)->verdict, Verdict::Blocked);
  }

  // What Esc stopped is made up for by the next fold.
  void aStoppedRunComesBackWithTheFold() {
    Shown shown(model_, {QStringLiteral("--early"), QStringLiteral("2000")});
    QTRY_COMPARE(shown.session.confirmation().kind, JobKind::Confirming);
    shown.window.actions()->stop->trigger();
    QTRY_COMPARE(shown.session.confirmation().kind, JobKind::None);
    QVERIFY(shown.session.early());
    const auto* stage = shown.child<QLabel>("jobStage");
    QVERIFY2(stage->isVisible() && stage->accessibleName().startsWith(QStringLiteral("Confirming inferred shapes")) &&
                 stage->accessibleName().endsWith(QStringLiteral("· stopped")),
             qPrintable(stage->accessibleName()));
    const auto* button = shown.child<QPushButton>("storyConfirm");
    QVERIFY(button->isVisible());
    shown.session.fold();
    QVERIFY(!button->isVisible());
    QCOMPARE(shown.session.confirmation().kind, JobKind::Confirming);
    QTRY_VERIFY_WITH_TIMEOUT(shown.session.foldResult().has_value() && !shown.session.early(), 10000);
  }

  void theButtonOffersTheRunAndTheInputs() {
    Shown shown(model_, {QStringLiteral("--early"), QStringLiteral("400")});
    QTRY_COMPARE(shown.session.confirmation().kind, JobKind::Confirming);
    auto* button = shown.child<QPushButton>("storyConfirm");
    QVERIFY(!button->isVisible());
    shown.window.actions()->stop->trigger();
    QTRY_VERIFY(button->isVisible());
    QCOMPARE(button->text(), QStringLiteral("Not confirmed"));
    const QList<QAction*> ways = button->menu()->actions();
    QCOMPARE(ways.size(), 2);
    ways[1]->trigger();
    QCOMPARE(shown.window.workspace()->place(), Workspace::Place::Inputs);
    ways[0]->trigger();
    QCOMPARE(shown.session.confirmation().kind, JobKind::Confirming);
    QTRY_VERIFY(!shown.session.early());
    QVERIFY(!button->isVisible());
  }

  void otherInputsEndTheRunThatConfirms() {
    Shown shown(model_, {QStringLiteral("--early"), QStringLiteral("60000")});
    QTRY_COMPARE(shown.session.confirmation().kind, JobKind::Confirming);
    protocol::InputsParams inputs;
    inputs.specs = {"ids=int64[3,5]:0..9"};
    shown.session.setInputs(inputs);
    QCOMPARE(shown.session.confirmation().kind, JobKind::None);
    QTRY_COMPARE(shown.session.confirmation().kind, JobKind::Confirming);  // of the next analysis
  }
};

}  // namespace normlens::ui

int main(int argc, char** argv) { return normlens::test::runShellTest<normlens::ui::TestConfirmation>(argc, argv); }

#include "test_confirmation.moc"
