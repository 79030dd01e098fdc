// What the window outlives: engines that are silent, hostile or die again and again.
#include <QAction>
#include <QLabel>
#include <QPushButton>
#include <QSettings>
#include <algorithm>
#include <csignal>

#include "tests/ui/shell/shown_window.h"
#include "ui/client/engine_client.h"
#include "ui/widgets/info_bar.h"
#include "ui/window/actions.h"
#include "ui/window/bottom/bottom_panel.h"
#include "ui/window/frame/story_bar.h"
#include "ui/window/workspace/workspace.h"

namespace normlens::ui {

namespace {

constexpr int kNoticed = EngineClient::kSilence * 1000 + 600;

QStringList attack(const char* method, const QString& how) {
  return {QStringLiteral("--attack"), QLatin1String(method) + u'=' + how};
}

}  // namespace

class TestSurvival final : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void init() {
    QSettings().clear();
    folder_ = std::make_unique<QTemporaryDir>();
    model_ = test::modelFile(*folder_);
  }

  // ---- what an engine says

  void anEngineThatSpeaksNonsenseIsEnded_data() {
    QTest::addColumn<QString>("words");
    QTest::newRow("deep list") << "nested more than 64 deep";
    QTest::newRow("deep object") << "nested more than 64 deep";
    QTest::newRow("many values") << "holds more than 33554432 values";
    QTest::newRow("long text") << "a text of more than 16777216 bytes";
    QTest::newRow("frame of 10 GB") << "a message of 10000000000 bytes is too large";
    QTest::newRow("not JSON") << "the message is not JSON";
    QTest::newRow("not an object") << "the message is not an object";
    QTest::newRow("id is a text") << "id must be a whole number";
    QTest::newRow("text without end") << "something that is no message came";
    QTest::newRow("lines without end") << "something that is no message came";
    QTest::newRow("empty lines without end") << "something that is no message came";
    QTest::newRow("frames without end") << "the message is not JSON";
  }
  void anEngineThatSpeaksNonsenseIsEnded() {
    QFETCH(QString, words);
    const QString flag = test::modelFile(*folder_, QStringLiteral("attack.flag"));
    Shown shown(attack("plan", QLatin1String(QTest::currentDataTag())) + QStringList{QStringLiteral("--while"), flag});
    shown.window.openFile(model_);
    QTRY_VERIFY_WITH_TIMEOUT(shown.window.infoBar()->showsError(), 20'000);
    const QString told = shown.window.infoBar()->message();
    QVERIFY2(told.startsWith(QStringLiteral("The engine sent unreadable data: ")) && told.contains(words),
             qPrintable(told));
    QVERIFY(!shown.session.busy());
    shown.click("infoAction");
    QTRY_VERIFY(shown.session.plan() && !shown.session.busy());
    QVERIFY(!shown.window.infoBar()->isVisible());
  }

  void whatNobodyAskedForIsDropped_data() {
    QTest::addColumn<bool>("unused");
    for (const char* how : {"answers to nobody", "answers again and again", "huge ids", "progress of nobody",
                            "progress of wrong types", "unknown notification", "lines on the side"}) {
      QTest::newRow(how) << true;
    }
  }
  void whatNobodyAskedForIsDropped() {
    Shown shown(attack("analyze", QLatin1String(QTest::currentDataTag())));
    shown.openAndAnalyse(model_);
    QVERIFY(shown.session.plan().has_value());
    QVERIFY(!shown.window.infoBar()->isVisible());
  }

  // ---- silence

  void aSilentEngineIsNoticed_data() {
    QTest::addColumn<EngineCommand>("engine");
    for (const char* how : {"stop", "half a header"}) {
      QTest::newRow(how) << test::fakeEngine(attack("open", QLatin1String(how)));
    }
    QTest::newRow("from its start") << EngineCommand{QStringLiteral("/usr/bin/env"), QStringLiteral("sleep"),
                                                     QStringLiteral("1000")};
  }
  void aSilentEngineIsNoticed() {
    QFETCH(EngineCommand, engine);
    MainWindow window({engine, ColorScheme::Light, false, false});
    window.show();
    window.openFile(model_);
    QTRY_VERIFY_WITH_TIMEOUT(window.infoBar()->isVisible(), kNoticed);
    QCOMPARE(window.infoBar()->message(), QStringLiteral("The engine has not answered for 5 s."));
    QCOMPARE(window.findChild<QLabel*>(QStringLiteral("engineState"))->text(),
             QStringLiteral("Engine: no response for 5 s"));
    QTRY_COMPARE(window.infoBar()->message(), QStringLiteral("The engine has not answered for 6 s."));
  }

  void anEngineThatStopsWithinAMessageIsGivenUp_data() {
    QTest::addColumn<bool>("unused");
    for (const char* how : {"half a message", "more announced than sent"}) QTest::newRow(how) << true;
  }
  void anEngineThatStopsWithinAMessageIsGivenUp() {
    Shown shown(attack("open", QLatin1String(QTest::currentDataTag())));
    QSignalSpy died(shown.window.engine(), &EngineClient::engineDied);
    shown.window.openFile(model_);
    QTRY_COMPARE_WITH_TIMEOUT(died.count(), 1, kNoticed + 2000);
    QCOMPARE(died.first().first().toString(), QStringLiteral("The engine stopped in the middle of a message."));
  }

  void anEngineAtLongWorkIsNotSilent() {
    Shown shown({QStringLiteral("--deaf"), QStringLiteral("open=%1").arg(kNoticed + 1000)});
    QSignalSpy silence(shown.window.engine(), &EngineClient::silenceChanged);
    shown.window.openFile(model_);
    QTRY_VERIFY_WITH_TIMEOUT(shown.session.model().has_value(), kNoticed + 5000);
    QCOMPARE(silence.count(), 0);
  }

  void waitingHidesTheBarAndASignOfLifeEndsIt() {
    Shown shown(model_);
    const auto engine = static_cast<pid_t>(shown.window.engine()->processId());
    ::kill(engine, SIGSTOP);
    QTRY_VERIFY_WITH_TIMEOUT(shown.window.infoBar()->isVisible(), kNoticed);
    ::kill(engine, SIGCONT);
    QTRY_VERIFY(!shown.window.infoBar()->isVisible());
    QCOMPARE(shown.child<QLabel>("engineState")->text(), QStringLiteral("Engine ready"));
    ::kill(engine, SIGSTOP);
    QTRY_VERIFY_WITH_TIMEOUT(shown.window.infoBar()->isVisible(), kNoticed);
    shown.click("infoAction");
    QVERIFY(!shown.window.infoBar()->isVisible());
    QTRY_COMPARE(shown.window.engine()->silence(), 7);
    QVERIFY(!shown.window.infoBar()->isVisible());
    ::kill(engine, SIGCONT);
    QTRY_COMPARE(shown.window.engine()->silence(), 0);
  }

  void aRestartKeepsPlanProofAndCharts() {
    Shown shown(model_);
    shown.session.choices()->keepNorm(2, true);
    QTRY_VERIFY(shown.session.plan() && !shown.session.busy());
    shown.fold();
    shown.session.measure();
    QTRY_VERIFY(shown.session.measurements()->last().has_value());
    ::kill(static_cast<pid_t>(shown.window.engine()->processId()), SIGSTOP);
    QTRY_VERIFY_WITH_TIMEOUT(shown.window.infoBar()->isVisible(), kNoticed);
    QCOMPARE(shown.child<QPushButton>("infoOther")->text(), QStringLiteral("Restart engine"));
    shown.click("infoOther");
    QTRY_VERIFY(shown.session.served() && shown.session.plan() && !shown.session.busy());
    QVERIFY(!shown.window.infoBar()->isVisible());
    QCOMPARE(shown.session.choices()->params().keep_norms, std::vector<int>{2});
    QVERIFY(shown.session.choices()->undoStack()->canUndo());
    QVERIFY(shown.session.foldResult() && shown.session.foldResult()->verify);
    QVERIFY(shown.session.measurements()->last().has_value());
    shown.session.choices()->keepNorm(2, false);
    QVERIFY(!shown.session.foldResult().has_value());
  }

  // ---- death

  void theBarOfACrashLeavesOnceAnEngineIsReady() {
    Shown shown(model_);
    ::kill(static_cast<pid_t>(shown.window.engine()->processId()), SIGKILL);
    QTRY_VERIFY(shown.window.infoBar()->showsError());
    shown.child<QAction>("restartEngine")->trigger();
    QTRY_COMPARE(shown.window.engine()->state(), EngineClient::State::Ready);
    QTRY_VERIFY(!shown.window.infoBar()->isVisible());
  }

  void thePlanIsShownAndChangedWhileTheEngineIsAway() {
    Shown shown(model_);
    shown.window.workspace()->showPlace(Workspace::Place::Inputs);
    QVERIFY(shown.child<QAbstractButton>("inputsGuess")->isEnabled());
    ::kill(static_cast<pid_t>(shown.window.engine()->processId()), SIGKILL);
    QTRY_VERIFY(shown.window.infoBar()->showsError());
    QVERIFY(!shown.child<QAbstractButton>("inputsGuess")->isEnabled());
    QVERIFY(!shown.child<QAbstractButton>("inputsLoad")->isEnabled());
    shown.session.choices()->keepNorm(2, true);
    QVERIFY(shown.session.plan());
    shown.child<QAction>("restartEngine")->trigger();
    QTRY_VERIFY(shown.session.served() && shown.session.plan() && !shown.session.busy());
    QVERIFY2(!shown.session.folds(2), "asked for once it was back");
  }

  void whatItSaidLongBeforeItDiedAreNotItsLastWords() {
    Shown shown(attack("open", QStringLiteral("lines on the side")));
    shown.openAndAnalyse(model_);
    QTest::qWait(2500);  // beats that it answers
    ::kill(static_cast<pid_t>(shown.window.engine()->processId()), SIGKILL);
    QTRY_VERIFY(shown.window.infoBar()->showsError());
    QVERIFY2(!shown.window.infoBar()->message().contains(QStringLiteral("little worth")),
             qPrintable(shown.window.infoBar()->message()));
  }

  void aBarLeavesWhenOtherWorkBegins() {
    Shown shown(model_);
    InfoBar* bar = shown.window.infoBar();
    bar->show(InfoBar::Tone::Error, QStringLiteral("The disk is full."));
    shown.session.fold();
    QVERIFY(!bar->isVisible());
    QTRY_VERIFY(shown.session.foldResult().has_value());
    // Wait and Restart are still needed.
    bar->show(InfoBar::Tone::Choice, QStringLiteral("The engine has not answered for 5 s."));
    bar->setTopic(QStringLiteral("engine"));
    shown.session.measure();
    QVERIFY(bar->isVisible());
    bar->show(InfoBar::Tone::Error, QStringLiteral("The model has not been analyzed yet."));
    shown.child<QAction>("restartEngine")->trigger();
    QVERIFY(!bar->isVisible());
  }

  void aModelThatKillsTheEngineTwiceIsNotReopenedByItself() {
    Shown shown(attack("analyze", QStringLiteral("die")));
    QSignalSpy starts(shown.window.engine(), &EngineClient::stateChanged);
    shown.window.openFile(model_);
    QTRY_VERIFY(shown.window.infoBar()->showsError());
    QCOMPARE(shown.child<QPushButton>("infoAction")->text(), QStringLiteral("Restart and reopen"));
    shown.click("infoAction");
    QTRY_VERIFY(shown.window.infoBar()->showsError());
    QCOMPARE(shown.child<QPushButton>("infoAction")->text(), QStringLiteral("Restart"));
    QVERIFY(!shown.session.reopens());
    shown.click("infoAction");
    QTRY_COMPARE(shown.window.engine()->state(), EngineClient::State::Ready);
    QVERIFY(!shown.session.busy() && !shown.session.served());
    QVERIFY(shown.session.model().has_value());
    // Another model is opened as ever.
    QCOMPARE(shown.child<StoryBar>("storyBar")->nextAction(), NextAction::Resume);
  }

  void anEngineThatDiesAtItsStartIsNotStartedByItself() {
    const QString count = folder_->filePath(QStringLiteral("count"));
    const QString script = folder_->filePath(QStringLiteral("engine"));
    test::write(script, "#!/bin/sh\necho started >> " + count.toUtf8() + "\nexit 3\n");
    QFile(script).setPermissions(QFile::ReadOwner | QFile::WriteOwner | QFile::ExeOwner);
    MainWindow window({EngineCommand{script}, ColorScheme::Light, false, false});
    window.show();
    auto* again = window.findChild<QPushButton*>(QStringLiteral("infoAction"));
    for (int starts = 1; starts <= 3; ++starts) {
      QTRY_VERIFY(window.infoBar()->showsError());
      QCOMPARE(window.engine()->failedStarts(), starts);
      if (starts < 3) QTest::mouseClick(again, Qt::LeftButton);
    }
    const auto labels = window.infoBar()->findChildren<QLabel*>();
    QVERIFY(std::ranges::any_of(labels, [](QLabel* label) {
      return label->text().contains(QStringLiteral("stopped 3 times before it was ready"));
    }));
    QCOMPARE(test::contentOf(count).count('\n'), 3);
  }

 private:
  std::unique_ptr<QTemporaryDir> folder_;
  QString model_;
};

}  // namespace normlens::ui

int main(int argc, char** argv) { return normlens::test::runShellTest<normlens::ui::TestSurvival>(argc, argv); }

#include "test_survival.moc"
