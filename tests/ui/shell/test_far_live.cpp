// The window with the engine that ships, reached by ssh through a real sshd of this machine, and by a wrapper that runs
// it in another folder, like docker exec.
#include <QDir>
#include <QElapsedTimer>
#include <QFile>
#include <QProcess>
#include <csignal>
#include <memory>

#include "tests/ui/shell/far_command.h"
#include "ui/client/engine_client.h"
#include "ui/session/session.h"
#include "ui/widgets/info_bar.h"
#include "ui/window/main_window.h"

namespace normlens::ui {
namespace {

constexpr int kPatienceMs = 120'000;  // LibTorch takes seconds to load where the disk is cold
constexpr int kNotPossible = 77;      // loopback_sshd.py's exit status where there is no sshd

// Shows the model and waits for its plan.
bool showPlanned(MainWindow& window, const QString& model) {
  window.show();
  window.openFile(model);
  const Session& session = *window.session();
  return QTest::qWaitFor([&] { return session.plan().has_value() && !session.busy(); }, kPatienceMs);
}

QString demo() { return QStringLiteral(NORMLENS_DEMO_MODELS "/gpt2.pt"); }

}  // namespace

class TestFarLive final : public QObject {
  Q_OBJECT

  std::unique_ptr<QTemporaryDir> folder_;  // the case's
  QProcess sshd_;

  // Starts sshd. An empty answer: there is none here, so the case is skipped.
  EngineCommand ssh(const QString& host) {
    sshd_.setProcessChannelMode(QProcess::ForwardedErrorChannel);
    sshd_.start(QStringLiteral("python3"), {QStringLiteral(NORMLENS_LOOPBACK_SSHD), folder_->path()});
    if (!sshd_.waitForReadyRead(kPatienceMs)) {
      sshd_.waitForFinished();
      if (sshd_.exitCode() != kNotPossible) qFatal("sshd did not start");
      return {};
    }
    return {QStringLiteral("ssh"),
            QStringLiteral("-F"),
            folder_->filePath(QStringLiteral("config")),
            host,
            QStringLiteral("env"),
            QStringLiteral("XDG_CACHE_HOME=") + folder_->path(),
            QStringLiteral(NORMLENS_ENGINE),
            QStringLiteral("serve")};
  }
  // Starts the engine by a script called docker: "docker exec -i trainer ENGINE serve".
  EngineCommand wrapped(const QByteArray& lines) {
    QFile wrapper(folder_->filePath(QStringLiteral("docker")));
    if (!wrapper.open(QIODevice::WriteOnly | QIODevice::Truncate)) qFatal("no wrapper");
    wrapper.write("#!/bin/sh\n" + lines);
    wrapper.setPermissions(QFile::ReadOwner | QFile::WriteOwner | QFile::ExeOwner);
    return {wrapper.fileName(),        QStringLiteral("exec"),          QStringLiteral("-i"),
            QStringLiteral("trainer"), QStringLiteral(NORMLENS_ENGINE), QStringLiteral("serve")};
  }
  void sendFoldAndFetch(MainWindow& window, const QString& model) {
    Session& session = *window.session();
    QElapsedTimer clock;
    clock.start();
    QVERIFY(showPlanned(window, model));
    qInfo("sent, opened and planned: %lld ms", clock.elapsed());
    QVERIFY2(QString::fromStdString(session.model()->path).contains(QStringLiteral("/normlens/exchanged/")),
             session.model()->path.c_str());
    session.fold();
    QTRY_VERIFY_WITH_TIMEOUT(session.foldResult().has_value(), kPatienceMs);
    const QString out = QFileInfo(model).dir().filePath(QStringLiteral("mine.folded.pt"));
    clock.start();
    session.exportTo(out);
    QTRY_VERIFY_WITH_TIMEOUT(session.exported().has_value(), kPatienceMs);
    qInfo("exported and fetched: %lld ms, %lld bytes", clock.elapsed(), QFileInfo(out).size());
    QCOMPARE(QString::fromStdString(session.exported()->path), out);
    QCOMPARE(QFileInfo(out).size(), session.exported()->bytes);
    QCOMPARE(QProcess::execute(QStringLiteral(NORMLENS_ENGINE), {QStringLiteral("verify"), model, out}), 0);
  }
  // Ends each connection as a network does, and leaves the server.
  void cut() const {
    const QByteArray pid = test::contentOf(folder_->filePath(QStringLiteral("sshd.pid"))).trimmed();
    const QByteArray children = test::contentOf(QStringLiteral("/proc/%1/task/%1/children").arg(QLatin1String(pid)));
    QVERIFY(!children.trimmed().isEmpty());
    for (const QByteArray& child : children.simplified().split(' ')) ::kill(child.toInt(), SIGKILL);
  }

 private Q_SLOTS:
  void init() { folder_ = std::make_unique<QTemporaryDir>(); }
  void cleanup() {
    sshd_.closeWriteChannel();
    sshd_.waitForFinished();
  }

  void aModelIsFoldedAndMeasuredThere() {
    const EngineCommand command = ssh(QStringLiteral("gpu-box"));
    if (command.isEmpty()) QSKIP("no sshd");
    MainWindow window({command, ColorScheme::Light, false, false});
    Session& session = *window.session();
    QVERIFY(showPlanned(window, demo()));
    QCOMPARE(window.windowTitle(), QStringLiteral("gpt2.pt – NormLens on gpu-box"));
    session.fold();
    QTRY_VERIFY_WITH_TIMEOUT(session.foldResult().has_value(), kPatienceMs);
    QVERIFY2(session.foldResult()->ok, session.foldResult()->reason.c_str());
    session.measure();
    QTRY_VERIFY_WITH_TIMEOUT(session.measurements()->last().has_value(), kPatienceMs);
  }

  // Sent, folded there, and the export comes back, runs here, and is the one that a local engine writes.
  void aModelThatIsOnlyHereIsSentAndItsExportComesBack() {
    const EngineCommand command = ssh(QStringLiteral("gpu-box"));
    if (command.isEmpty()) QSKIP("no sshd");
    QVERIFY(QFile::copy(demo(), folder_->filePath(QStringLiteral("mine.pt"))));
    MainWindow window({command, ColorScheme::Light, false, false});
    sendFoldAndFetch(window, test::onlyHere(*folder_, QStringLiteral("mine.pt")));
    QDir::setCurrent(QDir::tempPath());
  }

  void aConnectionThatIsCutIsMadeAgain() {
    const EngineCommand command = ssh(QStringLiteral("gpu-box"));
    if (command.isEmpty()) QSKIP("no sshd");
    MainWindow window({command, ColorScheme::Light, false, false});
    Session& session = *window.session();
    QVERIFY(showPlanned(window, demo()));
    session.fold();
    QTRY_VERIFY_WITH_TIMEOUT(session.foldResult() && !session.busy(), kPatienceMs);
    const qint64 before = window.engine()->processId();
    cut();
    QTRY_VERIFY(window.infoBar()->showsError());
    QCOMPARE(window.infoBar()->message(),
             QStringLiteral("The connection to gpu-box ended: Connection to 127.0.0.1 closed by remote host."));
    QTRY_VERIFY_WITH_TIMEOUT(session.served() && session.plan() && !session.busy(), kPatienceMs);
    QVERIFY(window.engine()->processId() != before);
    QVERIFY(!window.infoBar()->isVisible());
    QVERIFY(session.foldResult() && session.foldResult()->verify);
  }

  void whatSshAsksIsASentence_data() {
    QTest::addColumn<QString>("begin");
    QTest::newRow("no-key") << "no-key wants a password";
    QTest::newRow("new-host") << "ssh does not trust the host key of new-host";
  }
  void whatSshAsksIsASentence() {
    QFETCH(QString, begin);
    EngineClient engine;
    engine.setCommand(ssh(QLatin1String(QTest::currentDataTag())));
    if (engine.command().isEmpty()) QSKIP("no sshd");
    QSignalSpy died(&engine, &EngineClient::engineDied);
    engine.start();
    QTRY_COMPARE_WITH_TIMEOUT(died.count(), 1, 30'000);
    const QString reason = died.first().first().toString();
    QVERIFY2(reason.startsWith(begin), qPrintable(reason));
  }

  // A container has a root of its own: here, one where this folder is empty.
  void aWrapperMayChangeTheRoot() {
    if (QProcess::execute(QStringLiteral("unshare"), {QStringLiteral("--mount"), QStringLiteral("true")}) != 0)
      QSKIP("no mount namespaces");
    const QTemporaryDir here;
    const QString model = here.filePath(QStringLiteral("mine.pt"));
    QVERIFY(QFile::copy(demo(), model));
    MainWindow window(
        {wrapped("cd /\nshift 3\nexec unshare --mount sh -c 'mount -t tmpfs none \"$0\" && exec \"$@\"' '" +
                 here.path().toUtf8() + "' \"$@\"\n"),
         ColorScheme::Light, false, false});
    sendFoldAndFetch(window, model);
  }

  // The window's own folder is not the engine's: it names files with their whole path.
  void aWrapperMayChangeTheFolder() {
    QVERIFY(QDir::setCurrent(QFileInfo(demo()).path()));
    MainWindow window({wrapped("cd /\nshift 3\nexec \"$@\"\n"), ColorScheme::Light, false, false});
    QVERIFY(showPlanned(window, QStringLiteral("gpt2.pt")));
    QCOMPARE(window.windowTitle(), QStringLiteral("gpt2.pt – NormLens on trainer"));
  }
};

}  // namespace normlens::ui

int main(int argc, char** argv) { return normlens::test::runShellTest<normlens::ui::TestFarLive>(argc, argv); }

#include "test_far_live.moc"
