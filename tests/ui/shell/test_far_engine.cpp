// An engine on another machine, started by what is called ssh here: its host is shown, its versions are compared, and
// what ssh would ask becomes a sentence.
#include <QCoreApplication>
#include <QLabel>

#include "tests/ui/shell/shell_test.h"
#include "ui/client/engine_client.h"
#include "ui/window/main_window.h"

namespace normlens::ui {

class TestFarEngine final : public test::ModelTest {
  Q_OBJECT

  QTemporaryDir folder_;

  // A program called ssh that does what a shell does with these lines.
  EngineCommand ssh(const QString& lines, const QStringList& words = {QStringLiteral("me@gpu-box")}) {
    QFile file(folder_.filePath(QStringLiteral("ssh")));
    if (!file.open(QIODevice::WriteOnly | QIODevice::Truncate)) qFatal("no ssh");
    file.write("#!/bin/sh\n" + lines.toUtf8() + "\n");
    file.setPermissions(QFile::ReadOwner | QFile::WriteOwner | QFile::ExeOwner);
    return EngineCommand{file.fileName()} + words;
  }
  // Answers like ssh where the connection stands: the words after options and host are run.
  EngineCommand connected() {
    return ssh(
        QStringLiteral("echo \"$@\" > '%1'; shift 2; exec \"$@\"").arg(folder_.filePath(QStringLiteral("words"))),
        QStringList{QStringLiteral("me@gpu-box")} + test::fakeEngine());
  }
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
                                     << "";
    QTest::newRow("nothing") << ""
                             << "";
  }
  void theHostIsReadOffTheCommand() {
    QFETCH(QString, command);
    QTEST(hostOf(engineCommandFromLine(command)), "host");
  }

  void sshIsToldNotToAsk() {
    EngineClient engine;
    engine.setCommand(connected());
    engine.start();
    QTRY_COMPARE(engine.state(), EngineClient::State::Ready);
    QFile words(folder_.filePath(QStringLiteral("words")));
    QVERIFY(words.open(QIODevice::ReadOnly));
    QVERIFY(words.readAll().startsWith("-oBatchMode=yes me@gpu-box "));
    const EngineCommand own{QStringLiteral("ssh"), QStringLiteral("-oBatchMode=no"), QStringLiteral("gpu-box")};
    QCOMPARE(withoutQuestions(own), own);
    QCOMPARE(withoutQuestions(test::fakeEngine()), test::fakeEngine());
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
                            << "The connection to gpu-box ended: ssh gives no reason.";
    QTest::newRow("no engine there")
        << "echo 'sh: 1: normlens-engine: not found' >&2; exit 127"
        << "The engine was not found on gpu-box: sh: 1: normlens-engine: not found. Install "
           "NormLens there, or name the engine with its folder.";
  }
  void aQuestionOfSshIsASentence() {
    QFETCH(QString, lines);
    QTEST(endOf(ssh(lines)), "sentence");
  }

  void titleAndStatusNameTheHost() {
    MainWindow window({connected(), ColorScheme::Light, false, false});
    window.show();
    window.openFile(model_);
    QTRY_COMPARE(window.windowTitle(), QStringLiteral("gpt2.pt – NormLens on gpu-box"));
    QTRY_COMPARE(window.findChild<QLabel*>(QStringLiteral("engineState"))->text(),
                 QStringLiteral("Engine ready on gpu-box"));
  }

  void theOlderSideIsNamed_data() {
    QTest::addColumn<QString>("ours");
    QTest::addColumn<QString>("begin");
    QTest::newRow("engine") << "0.2.0"
                            << "The engine on gpu-box is older (0.1.0 (fake), protocol ";
    QTest::newRow("window") << "0.0.9"
                            << "The engine on gpu-box is newer (0.1.0 (fake), protocol ";
    QTest::newRow("neither") << "0.1.0"
                             << "";
  }
  void theOlderSideIsNamed() {
    QFETCH(QString, ours);
    QFETCH(QString, begin);
    QCoreApplication::setApplicationVersion(ours);
    EngineClient engine;
    engine.setCommand(connected());
    QSignalSpy logged(&engine, &EngineClient::logged);
    engine.start();
    QTRY_COMPARE(engine.state(), EngineClient::State::Ready);
    QCoreApplication::setApplicationVersion({});
    QCOMPARE(logged.count(), begin.isEmpty() ? 0 : 1);
    if (begin.isEmpty()) return;
    const QString line = logged.first().first().toString();
    QVERIFY2(line.startsWith(begin), qPrintable(line));
    QVERIFY2(line.contains(QStringLiteral("this window (%1, protocol ").arg(ours)), qPrintable(line));
  }
};

}  // namespace normlens::ui

int main(int argc, char** argv) { return normlens::test::runShellTest<normlens::ui::TestFarEngine>(argc, argv); }

#include "test_far_engine.moc"
