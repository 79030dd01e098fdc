// The window with the engine that ships: a demo model is opened, folded, exported, and the written file judged anew by
// an engine of its own; then the engine is killed while it works.
#include <QAbstractButton>
#include <QFileDialog>
#include <QLineEdit>
#include <QProcess>
#include <csignal>

#include "tests/ui/shell/shell_test.h"
#include "ui/client/engine_client.h"
#include "ui/session/session.h"
#include "ui/widgets/info_bar.h"
#include "ui/window/main_window.h"

namespace normlens::ui {
namespace {

constexpr int kPatienceMs = 120'000;  // LibTorch takes seconds to load where the disk is cold

EngineCommand realEngine() { return EngineCommand{QStringLiteral(NORMLENS_ENGINE), QStringLiteral("serve")}; }
QString demo(const char* name) { return QStringLiteral(NORMLENS_DEMO_MODELS "/") + QLatin1String(name); }

}  // namespace

class TestRealEngine final : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void opensFoldsExportsAndTheFileVerifies() {
    MainWindow window({realEngine(), ColorScheme::Light, false, false});
    window.resize(1440, 900);
    window.show();
    Session& session = *window.session();
    window.openFile(demo("gpt2.pt"));
    QTRY_VERIFY_WITH_TIMEOUT(session.plan().has_value() && !session.busy(), kPatienceMs);
    const auto totals = session.analysis()->totals;  // a copy: the next model replaces it
    QVERIFY(totals.layer_norms > 0);
    QCOMPARE(totals.free, totals.layer_norms);
    QVERIFY(session.analysis()->probe_error.empty());

    session.selectNorm(totals.layer_norms - 1);
    QTRY_VERIFY_WITH_TIMEOUT(session.zeroMean().has_value(), kPatienceMs);
    QVERIFY(session.zeroMean()->vertices.size() > 3);
    QVERIFY(!session.zeroMean()->leaves.empty());

    QTest::mouseClick(window.findChild<QAbstractButton*>(QStringLiteral("nextAction")), Qt::LeftButton);
    QTRY_VERIFY_WITH_TIMEOUT(session.foldResult().has_value(), kPatienceMs);
    QVERIFY2(session.foldResult()->ok, session.foldResult()->reason.c_str());
    QVERIFY(session.foldResult()->verify->algebra.max_rel <= 1e-10);

    const QString target = folder_.filePath(QStringLiteral("folded.pt"));
    session.exportTo(target);
    QTRY_VERIFY_WITH_TIMEOUT(session.exported().has_value(), kPatienceMs);
    QVERIFY(runEngine(
        {QStringLiteral("diff"), demo("gpt2.pt"), target, QStringLiteral("--fail-above"), QStringLiteral("1e-5")}));
    // What it was folded to has no LayerNorm left.
    window.openFile(target);
    QTRY_VERIFY_WITH_TIMEOUT(session.analysis().has_value() && !session.busy() && session.path() == target,
                             kPatienceMs);
    QCOMPARE(session.analysis()->totals.layer_norms, 0);
    QCOMPARE(static_cast<int>(session.analysis()->other_norms.size()), totals.layer_norms);
  }

  void aBlockedNormNamesItsBlocker() {
    MainWindow window({realEngine(), ColorScheme::Dark, false, false});
    window.show();
    Session& session = *window.session();
    window.openFile(demo("bert.pt"));
    QTRY_VERIFY_WITH_TIMEOUT(session.plan().has_value() && !session.busy(), kPatienceMs);
    const auto& norms = session.analysis()->norms;
    const auto blocked =
        std::find_if(norms.begin(), norms.end(), [](const auto& norm) { return norm.verdict == "blocked"; });
    QVERIFY(blocked != norms.end());
    QVERIFY(blocked->blocker_path.size() > 1);
    QVERIFY(blocked->reason.find("not zero-mean") != std::string::npos);
    QVERIFY(blocked->paper);  // the papers take a LayerNorm's output for zero-mean
  }

  void killedWhileItFoldsTheWindowCarriesOn() {
    MainWindow window({realEngine(), ColorScheme::Light, false, false});
    window.show();
    Session& session = *window.session();
    window.openFile(demo("vit.pt"));
    QTRY_VERIFY_WITH_TIMEOUT(session.plan().has_value() && !session.busy(), kPatienceMs);
    session.fold();
    QVERIFY(session.busy());
    ::kill(static_cast<pid_t>(session.engine()->info().pid), SIGKILL);
    QTRY_VERIFY_WITH_TIMEOUT(window.infoBar()->showsError(), kPatienceMs);
    QVERIFY(session.model().has_value());
    QTest::mouseClick(window.findChild<QAbstractButton*>(QStringLiteral("infoAction")), Qt::LeftButton);
    QTRY_VERIFY_WITH_TIMEOUT(session.plan().has_value() && !session.busy(), kPatienceMs);
    session.fold();
    QTRY_VERIFY_WITH_TIMEOUT(session.foldResult().has_value(), kPatienceMs);
    QVERIFY(session.foldResult()->ok);
  }

 private:
  static bool runEngine(const QStringList& words) {
    QProcess process;
    process.start(QStringLiteral(NORMLENS_ENGINE), words);
    return process.waitForFinished(kPatienceMs) && process.exitStatus() == QProcess::NormalExit &&
           process.exitCode() == 0;
  }

  QTemporaryDir folder_;
};

}  // namespace normlens::ui

int main(int argc, char** argv) { return normlens::test::runShellTest<normlens::ui::TestRealEngine>(argc, argv); }

#include "test_real_engine.moc"
