// The laboratory's page with the engine that ships: a tiny run is trained, paused, gone on with, stopped and there
// again in the next window; its engine is killed and the run goes on from its checkpoint; a trained network is opened.
#include <QLineEdit>
#include <QMenu>
#include <QTableView>
#include <QTemporaryDir>
#include <algorithm>
#include <csignal>

#include "tests/ui/shell/shell_test.h"
#include "ui/models/lab_table.h"
#include "ui/session/lab/lab_runs.h"
#include "ui/session/session.h"
#include "ui/window/actions.h"
#include "ui/window/lab/settings_form.h"
#include "ui/window/main_window.h"

namespace normlens::ui {
namespace {

constexpr int kPatienceMs = 120'000;  // LibTorch takes seconds to load where the disk is cold

struct Laboratory {
  Laboratory()
      : window({EngineCommand{QStringLiteral(NORMLENS_ENGINE), QStringLiteral("serve")}, ColorScheme::Light, false,
                false}) {
    window.resize(1440, 900);
    window.show();
    window.actions()->laboratory->trigger();
    runs = window.findChild<LabRuns*>();
    table = window.findChild<LabTable*>();
    [this] { QTRY_VERIFY(!runs->isReading()); }();
  }
  void click(const char* name) {
    QTest::mouseClick(window.findChild<QAbstractButton*>(QLatin1String(name)), Qt::LeftButton);
  }
  void begin(int epochs) {
    lab::RunSettings tiny = lab::usualSettings(lab::Experiment::Equivalence);
    tiny.layers = {3};
    tiny.width = 16;
    tiny.epochs = epochs;
    tiny.data.samples = 256;
    click("labOwn");
    window.findChild<SettingsForm*>()->setSettings(tiny);
    click("labStart");
    const auto isUnderWay = [this] { return runs->state() == LabRuns::State::Training && runs->fraction() > 0; };
    QTRY_VERIFY_WITH_TIMEOUT(isUnderWay() || state() == u"done", kPatienceMs);  // a short run is over in no time
  }
  [[nodiscard]] QString state() const { return table->index(0, LabTable::State).data().toString(); }

  MainWindow window;
  LabRuns* runs;
  LabTable* table;
};

constexpr int kLong = 20'000;  // epochs that nobody waits for

}  // namespace

class LabLiveTest final : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void init() { QDir(usualRunsFolder()).removeRecursively(); }

  void aRunIsPausedGoneOnWithStoppedAndThereAgain() {
    {
      Laboratory lab;
      lab.begin(kLong);
      lab.click("labAct");
      QTRY_VERIFY_WITH_TIMEOUT(lab.runs->state() == LabRuns::State::Paused, kPatienceMs);
      const double paused = lab.runs->fraction();
      lab.click("labAct");
      QTRY_VERIFY_WITH_TIMEOUT(lab.runs->fraction() > paused, kPatienceMs);
      lab.click("labStop");
      QTRY_VERIFY_WITH_TIMEOUT(!lab.runs->busy(), kPatienceMs);
      QVERIFY2(lab.runs->problem().isEmpty(), qPrintable(lab.runs->problem()));
      QVERIFY2(lab.state().startsWith(QStringLiteral("stopped, epoch")), qPrintable(lab.state()));
    }
    Laboratory again;
    QVERIFY2(again.state().startsWith(QStringLiteral("stopped, epoch")), qPrintable(again.state()));
  }

  void aKilledEngineLosesNoMoreThanItsLastEpochs() {
    Laboratory lab;
    lab.begin(kLong);
    const QString checkpoint = lab.runs->runs().front().folder + QStringLiteral("/checkpoint");
    QTRY_VERIFY_WITH_TIMEOUT(QFile::exists(checkpoint), kPatienceMs);
    ::kill(static_cast<pid_t>(lab.runs->engineProcess()), SIGKILL);
    QTRY_VERIFY_WITH_TIMEOUT(!lab.runs->busy(), kPatienceMs);
    QVERIFY(!lab.runs->problem().isEmpty());
    QVERIFY2(lab.state().startsWith(QStringLiteral("interrupted, epoch")), qPrintable(lab.state()));
    lab.click("labAct");
    QTRY_VERIFY_WITH_TIMEOUT(lab.runs->fraction() > 0, kPatienceMs);
    const auto& records = lab.runs->runs().front().records;
    QVERIFY2(records.back().epoch > 1, "it began anew");
    lab.click("labStop");
    QTRY_VERIFY_WITH_TIMEOUT(!lab.runs->busy(), kPatienceMs);
  }

  // Its weights were centered when it was written: the files hold RMSNorms alone.
  void ofTheCenteredNetworkNothingIsLeftToFold() {
    Laboratory lab;
    lab.begin(3);
    QTRY_COMPARE_WITH_TIMEOUT(lab.state(), QStringLiteral("done"), kPatienceMs);
    const int row =
        lab.table->rowWhere([](const LabRow& each) { return each.member.network == lab::NormUse::CbwcRmsNorm; });
    QTRY_VERIFY_WITH_TIMEOUT(!lab.table->row(row).weights.isEmpty(), kPatienceMs);  // written after its last epoch
    auto* view = lab.window.findChild<QTableView*>(QStringLiteral("labTable"));
    const Session& session = *lab.window.session();
    lab.window.actions()->laboratory->trigger();
    Q_EMIT view->customContextMenuRequested(view->visualRect(lab.table->index(row, LabTable::Run)).center());
    auto* menu = view->findChild<QMenu*>(QStringLiteral("labTableMenu"));
    QVERIFY(menu != nullptr);
    const auto actions = menu->actions();
    const auto open = std::ranges::find_if(
        actions, [](const QAction* action) { return action->text() == QStringLiteral("Open the trained network"); });
    QVERIFY(open != actions.end() && (*open)->isEnabled());
    (*open)->trigger();
    menu->close();
    QTRY_VERIFY_WITH_TIMEOUT(session.path().endsWith(QStringLiteral(".pt")) && session.analysis() && !session.busy(),
                             kPatienceMs);
    QCOMPARE(session.analysis()->totals.layer_norms, 0);
    QCOMPARE(session.analysis()->other_norms.size(), size_t{2});
  }
};

}  // namespace normlens::ui

int main(int argc, char** argv) { return normlens::test::runShellTest<normlens::ui::LabLiveTest>(argc, argv); }
#include "test_lab_live.moc"
