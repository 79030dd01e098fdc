// An engine on another machine, started by what is called ssh here: its host is shown, its versions are compared, what
// ssh would ask becomes a sentence, connections are tested and saved, and one that ends is made again.
#include <QComboBox>
#include <QCoreApplication>
#include <QLabel>
#include <QMenu>
#include <QPushButton>
#include <QSettings>
#include <csignal>

#include "tests/ui/shell/far_command.h"
#include "tests/ui/shell/shown_window.h"
#include "ui/client/engine_client.h"
#include "ui/session/difference_run.h"
#include "ui/session/probe_run.h"
#include "ui/window/frame/preferences.h"

namespace normlens::ui {

class TestFarEngine final : public test::ModelTest {
  Q_OBJECT

  QTemporaryDir folder_;

  EngineCommand ssh(const QString& lines) { return test::sshOf(folder_, lines); }
  EngineCommand connected(const QStringList& mischief = {}) {
    return test::connectedBy(folder_, test::fakeEngine(mischief));
  }
  QString make(const char* name) { return test::modelFile(folder_, QLatin1String(name)); }
  // A line with which the command is the same again.
  static QString lineOf(const EngineCommand& command) {
    QStringList words;
    for (const QString& word : command) words << u'"' + word + u'"';
    return words.join(u' ');
  }
  // Shows the preferences and types the command.
  static void type(Shown& shown, const QString& line) {
    shown.child<QAction>("preferences")->trigger();
    auto* field = shown.child<QLineEdit>("preferEngine");
    field->clear();
    QTest::keyClicks(field, line);
  }
  static QString note(Shown& shown) { return shown.child<QLabel>("preferEngineNote")->text(); }
  static QString endOf(const EngineCommand& command) {
    EngineClient engine;
    engine.setCommand(command);
    QSignalSpy died(&engine, &EngineClient::engineDied);
    engine.start();
    return died.wait() ? died.first().first().toString() : QStringLiteral("nothing");
  }

 private Q_SLOTS:
  void theHostIsReadOffTheCommand_data() {
    QTest::addColumn<QString>("command");
    QTest::addColumn<QString>("host");
    QTest::newRow("here") << "/usr/bin/normlens-engine serve"
                          << "";
    QTest::newRow("ssh") << "ssh gpu-box normlens-engine serve"
                         << "gpu-box";
    QTest::newRow("with a user") << "/usr/bin/ssh me@gpu-box normlens-engine serve"
                                 << "gpu-box";
    QTest::newRow("options with values") << "ssh -C -p 22 -i \"my key\" -oPort=22 -Tp 22 gpu-box x"
                                         << "gpu-box";
    QTest::newRow("a URL") << "ssh ssh://me@gpu-box:2222 normlens-engine serve"
                           << "gpu-box";
    QTest::newRow("a container") << "docker exec -i -u me --privileged trainer normlens-engine serve"
                                 << "trainer";
    QTest::newRow("a new container") << "docker run -i image normlens-engine serve"
                                     << "docker";
    QTest::newRow("a program that may lead anywhere") << "/opt/bin/to-gpu.sh normlens-engine serve"
                                                      << "to-gpu.sh";
    QTest::newRow("a program that leads here") << "env A=1 sh -c 'cd / && exec normlens-engine serve'"
                                               << "";
    QTest::newRow("nothing") << ""
                             << "";
  }
  void theHostIsReadOffTheCommand() {
    QFETCH(QString, command);
    QTEST(hostOf(engineCommandFromLine(command)), "host");
  }

  void aCommandIsSplitAsAShellWould() {
    QCOMPARE(engineCommandFromLine(QStringLiteral("sh -c 'cd / && exec \"my engine\" serve'")),
             (EngineCommand{QStringLiteral("sh"), QStringLiteral("-c"),
                            QStringLiteral("cd / && exec \"my engine\" serve")}));
    QCOMPARE(engineCommandFromLine(QStringLiteral("a \"b c\" `d` & e")),
             (EngineCommand{QStringLiteral("a"), QStringLiteral("b c"), QStringLiteral("`d`"), QStringLiteral("&"),
                            QStringLiteral("e")}));
  }

  void sshIsToldNotToAsk() {
    EngineClient engine;
    engine.setCommand(connected());
    engine.start();
    QTRY_COMPARE(engine.state(), EngineClient::State::Ready);
    QVERIFY(test::contentOf(folder_.filePath(QStringLiteral("words"))).startsWith("-oBatchMode=yes "));
    QCOMPARE(startedCommand(test::fakeEngine()), test::fakeEngine());
  }

  // ssh takes the first of two values.
  void theOptionsOfTheCommandComeFirst() {
    const EngineCommand started =
        startedCommand(engineCommandFromLine(QStringLiteral("ssh -p 22 -oBatchMode=no gpu-box normlens-engine serve")));
    QCOMPARE(started.mid(0, 5).join(u' '), QStringLiteral("ssh -p 22 -oBatchMode=no -oBatchMode=yes"));
    QCOMPARE(started.mid(started.size() - 3).join(u' '), QStringLiteral("gpu-box normlens-engine serve"));
    QVERIFY(started.contains(QStringLiteral("-oCompression=yes")));
  }

  void aQuestionOfSshIsASentence_data() {
    QTest::addColumn<QString>("lines");
    QTest::addColumn<QString>("sentence");
    QTest::newRow("password") << "echo 'me@gpu-box: Permission denied (publickey,password).' >&2; exit 255"
                              << "gpu-box wants a password, and the window cannot ask for it. Set up a key: run "
                                 "ssh-copy-id gpu-box in a terminal.";
    QTest::newRow("host key")
        << "echo 'Host key verification failed.' >&2; exit 255"
        << "ssh does not trust the host key of gpu-box: it is new or has changed. Run ssh gpu-box "
           "in a terminal to see it.";
    QTest::newRow("no route") << "echo 'ssh: connect to host gpu-box port 22: No route to host' >&2; exit 255"
                              << "The connection to gpu-box ended: ssh: connect to host gpu-box port 22: No route to "
                                 "host";
    QTest::newRow("silent") << "exit 255"
                            << "The connection to gpu-box ended: ssh gives no reason; the engine may have been killed "
                               "there.";
    QTest::newRow("no engine there")
        << "echo 'sh: 1: normlens-engine: not found' >&2; exit 127"
        << "The engine was not found on gpu-box: sh: 1: normlens-engine: not found. Install "
           "NormLens there, or name the engine with its folder.";
  }
  void aQuestionOfSshIsASentence() {
    QFETCH(QString, lines);
    QTEST(endOf(ssh(lines)), "sentence");
  }

  // The same, by the button that tests a connection before it is used.
  void aTestShowsWhatSshAsks_data() { aQuestionOfSshIsASentence_data(); }
  void aTestShowsWhatSshAsks() {
    QFETCH(QString, lines);
    QFETCH(QString, sentence);
    Shown shown;
    QTRY_COMPARE(shown.window.engine()->state(), EngineClient::State::Ready);
    const qint64 inUse = shown.window.engine()->processId();
    type(shown, lineOf(ssh(lines)));
    shown.click("preferEngineTest");
    QTRY_COMPARE(note(shown), sentence);
    QCOMPARE(shown.window.engine()->processId(), inUse);
    QVERIFY(!shown.window.infoBar()->isVisible());
  }

  void aTestShowsWhatAnswers() {
    QCoreApplication::setApplicationVersion(QStringLiteral("0.2.0"));
    Shown shown;
    type(shown, lineOf(connected({QStringLiteral("--gpu"), QStringLiteral("H200")})));
    shown.click("preferEngineTest");
    QTRY_VERIFY2(note(shown).startsWith(QStringLiteral("The engine on gpu-box answered after ")),
                 qPrintable(note(shown)));
    QCoreApplication::setApplicationVersion({});
    QVERIFY2(note(shown).contains(QStringLiteral("device H200.")), qPrintable(note(shown)));
    QVERIFY2(note(shown).contains(QStringLiteral("The engine on gpu-box is older")), qPrintable(note(shown)));
    QTest::keyClicks(shown.child<QLineEdit>("preferEngine"), QStringLiteral("x"));
    QVERIFY2(note(shown).isEmpty(), "it was another command's");
  }

  void aConnectionIsSavedUsedAndRemoved() {
    QSettings().clear();
    const QString line = lineOf(connected());
    {
      Shown shown({}, true);
      auto* choice = shown.child<QComboBox>("preferConnection");
      QCOMPARE(choice->currentText(), QStringLiteral("This machine"));
      type(shown, line);
      QCOMPARE(choice->currentIndex(), -1);
      shown.click("preferConnectionSave");
      QCOMPARE(choice->currentText(), QStringLiteral("gpu-box"));
      QVERIFY(!shown.child<QAbstractButton>("preferConnectionSave")->isEnabled());
      QCOMPARE(preferencesFromSettings().connections, (std::vector<Connection>{{QStringLiteral("gpu-box"), line}}));
      QVERIFY2(preferencesFromSettings().engineCommand.isEmpty(), "saved, not used");
    }
    Shown shown({}, true);
    shown.child<QAction>("preferences")->trigger();
    auto* choice = shown.child<QComboBox>("preferConnection");
    choice->setFocus();
    QTest::keyClick(choice, Qt::Key_Down);
    QCOMPARE(shown.child<QLineEdit>("preferEngine")->text(), line);
    shown.click("preferEngineApply");
    QTRY_COMPARE(shown.window.windowTitle(), QStringLiteral("NormLens on gpu-box"));
    QCOMPARE(preferencesFromSettings().engineCommand, line);
    shown.click("preferConnectionRemove");
    QVERIFY(preferencesFromSettings().connections.empty());
    QCOMPARE(choice->count(), 1);
  }

  void theDeviceMenuAndErrorsNameTheHost() {
    Shown shown;
    shown.window.engine()->setCommand(connected({QStringLiteral("--error"), QStringLiteral("open")}));
    shown.session.recover();
    shown.window.openFile(model_);
    QTRY_VERIFY(shown.window.infoBar()->showsError());
    const auto labels = shown.window.infoBar()->findChildren<QLabel*>();
    QVERIFY(std::ranges::any_of(labels, [](QLabel* label) { return label->text().endsWith(u" On gpu-box."); }));
    QCOMPARE(shown.child<QMenu>("deviceMenu")->actions().first()->text(), QStringLiteral("Measure on gpu-box"));
    ::kill(static_cast<pid_t>(shown.window.engine()->processId()), SIGKILL);
    QTRY_VERIFY(shown.says(QStringLiteral("The engine on gpu-box was killed")));
  }

  // ---- a connection that ends

  void aConnectionThatEndsIsMadeAgain_data() {
    QTest::addColumn<QString>("cut");  // the method in which it ends, and how; empty: while nothing runs
    QTest::addColumn<std::function<void(Session&)>>("work");
    const auto row = [](const char* name, const char* cut, std::function<void(Session&)> work) {
      QTest::newRow(name) << QString::fromLatin1(cut) << std::move(work);
    };
    row("idle", "", [](Session& session) { ::kill(static_cast<pid_t>(session.engine()->info().pid), SIGKILL); });
    row("another model is opened", "open=die", [this](Session& session) { session.open(make("bert.pt")); });
    row("analyzing", "analyze=die", [](Session& session) { session.guessInputs(); });
    row("planning", "plan=die", [](Session& session) {
      session.choices()->setPolicy(Policy::Free);
      session.choices()->undoStack()->undo();
    });
    row("folding", "fold=die", [](Session& session) { session.fold(); });
    row("measuring", "bench=die", [](Session& session) { session.measure(); });
    row("exporting", "export=die", [this](Session& session) { session.exportTo(make("out.pt")); });
    row("comparing", "diff=die", [](Session& session) { session.differences()->start({}); });
    row("probing", "probe=die", [](Session& session) { session.probe()->start(ProbedModel::Opened); });
    row("the network is away", "", [this](Session& session) {
      make("down");
      ::kill(static_cast<pid_t>(session.engine()->info().pid), SIGKILL);
    });
  }
  void aConnectionThatEndsIsMadeAgain() {
    QFETCH(QString, cut);
    QFETCH(std::function<void(Session&)>, work);
    const QString flag = folder_.filePath(QStringLiteral("cut"));
    Shown shown;
    EngineClient& engine = *shown.window.engine();
    engine.setCommand(connected({QStringLiteral("--attack"), cut, QStringLiteral("--while"), flag}));
    shown.session.recover();
    shown.openAndAnalyse(model_);
    shown.session.choices()->setPolicy(Policy::All);
    QTRY_VERIFY(shown.session.plan() && !shown.session.busy());
    shown.fold();
    shown.session.measure();
    QTRY_VERIFY(shown.session.measurements()->last() && !shown.session.busy());
    const qint64 before = engine.processId();
    if (!cut.isEmpty()) make("cut");
    work(shown.session);
    QTRY_VERIFY_WITH_TIMEOUT(shown.says(QStringLiteral("gpu-box")), 10'000);
    QTRY_VERIFY_WITH_TIMEOUT(engine.state() == EngineClient::State::Ready && engine.processId() != before, 10'000);
    QTRY_VERIFY(shown.session.served() && shown.session.plan() && !shown.session.busy());
    QVERIFY(!shown.window.infoBar()->isVisible());
    QCOMPARE(shown.session.path(), model_);
    QCOMPARE(shown.session.choices()->params().policy, Policy::All);
    QVERIFY(shown.session.measurements()->last().has_value());
    const bool proofWasUnderWay = cut.startsWith(QStringLiteral("fold"));
    QVERIFY(proofWasUnderWay || shown.session.foldResult() || shown.session.keepsProof());
    shown.session.fold();  // by the engine that came back
    QTRY_VERIFY(shown.session.foldResult() && !shown.session.busy());
  }
};

}  // namespace normlens::ui

int main(int argc, char** argv) { return normlens::test::runShellTest<normlens::ui::TestFarEngine>(argc, argv); }

#include "test_far_engine.moc"
