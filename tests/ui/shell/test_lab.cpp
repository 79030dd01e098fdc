// The laboratory's page, with an engine that only tells what training would look like: a run is started, paused, gone
// on with and stopped, and is there again in the next window; what is written in a field is read, or refused in words.
#include <sys/stat.h>

#include <QElapsedTimer>
#include <QLabel>
#include <QLineEdit>
#include <QRegularExpression>
#include <QTableView>
#include <QTemporaryDir>

#include "tests/ui/shell/shown_window.h"
#include "ui/charts/chart_view.h"
#include "ui/models/lab_table.h"
#include "ui/session/lab/lab_runs.h"
#include "ui/session/project_keeper.h"
#include "ui/widgets/elided_label.h"
#include "ui/widgets/segmented.h"
#include "ui/window/actions.h"
#include "ui/window/lab/lab_figures.h"
#include "ui/window/lab/lab_page.h"
#include "ui/window/lab/settings_form.h"

namespace normlens::ui {
namespace {

const QStringList kSlowly{QStringLiteral("--round"), QStringLiteral("80")};

// Its page is open.
struct Laboratory : Shown {
  explicit Laboratory(const QStringList& mischief = {}) : Shown(mischief) {
    window.actions()->laboratory->trigger();
    runs = window.findChild<LabRuns*>();
    table = window.findChild<LabTable*>();
    [this] { QTRY_VERIFY(!runs->isReading()); }();
    click("labOwn");
    form = child<SettingsForm>("labForm");
  }
  void begin() {
    click("labStart");
    QTRY_VERIFY(runs->state() == LabRuns::State::Training);
  }
  void write(const char* field, const QString& words) {
    auto* edit = child<QLineEdit>(field);
    edit->selectAll();
    QTest::keyClicks(edit, words);
  }
  void choose(const char* field, int index) {
    child<Segmented>(field)->setCurrent(index);
    Q_EMIT child<Segmented>(field)->chosen(index);
  }
  [[nodiscard]] QString cell(int row, LabTable::Column column) const {
    return table->index(row, column).data().toString();
  }
  void tick(int row) {
    auto* view = child<QTableView>("labTable");
    const QModelIndex at = table->index(row, LabTable::Tick);
    view->scrollTo(at);
    QTest::mouseClick(view->viewport(), Qt::LeftButton, {}, view->visualRect(at).center());
  }
  [[nodiscard]] int linesOf(LabChart kind) const {
    int lines = 0;
    for (const QAbstractSeries* series : window.findChild<LabFigures*>()->chart(kind)->chart()->series())
      lines += series->type() == QAbstractSeries::SeriesTypeLine ? 1 : 0;
    return lines;
  }

  [[nodiscard]] QString says(LabChart kind) {
    const auto* label = child<QLabel>(qPrintable(QStringLiteral("labSays%1").arg(static_cast<int>(kind))));
    return label->isVisible() ? label->text() : QString();
  }
  // Those that are shown.
  [[nodiscard]] QList<LabChart> charts() const {
    QList<LabChart> shown;
    for (int kind = 0; kind <= static_cast<int>(LabChart::StepTime); ++kind) {
      const auto* view = window.findChild<LabFigures*>()->chart(static_cast<LabChart>(kind));
      if (view->isVisible()) shown << static_cast<LabChart>(kind);
    }
    return shown;
  }

  LabRuns* runs = nullptr;
  LabTable* table = nullptr;
  SettingsForm* form = nullptr;
};

}  // namespace

class LabTest final : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void init() { QDir(usualRunsFolder()).removeRecursively(); }

  void aRunIsDrawnWhileItIsTrained() {
    Laboratory lab(kSlowly);
    QVERIFY(lab.child<QLabel>("labEmpty")->isVisible());
    lab.begin();
    QTRY_VERIFY(lab.table->rowCount() == 6 && lab.cell(0, LabTable::State).startsWith(QStringLiteral("epoch")));
    QVERIFY(!lab.form->isEnabled());
    QTRY_COMPARE(lab.linesOf(LabChart::Loss), 3);
    QTRY_VERIFY_WITH_TIMEOUT(lab.runs->state() == LabRuns::State::Idle, 30'000);
    QCOMPARE(lab.cell(0, LabTable::State), QStringLiteral("done"));
    QCOMPARE(lab.cell(0, LabTable::Difference), QStringLiteral("reference"));
    QVERIFY(lab.says(LabChart::WeightDifference).contains(QStringLiteral("Confirmed")));
    QVERIFY(lab.form->isEnabled());
  }

  // Each claim of a run has one chart, with its sentence; the others are shown when they are asked for.
  void eachClaimHasItsFigure() {
    Laboratory lab;
    lab.click("labClaims");
    lab.click("labStart_equivalence");
    QTRY_VERIFY_WITH_TIMEOUT(!lab.runs->busy() && lab.runs->run(1) != nullptr && lab.runs->run(1)->isDone(), 30'000);
    QCOMPARE(lab.charts(), (QList{LabChart::Loss, LabChart::WeightDifference}));
    QVERIFY(lab.says(LabChart::WeightDifference).contains(QStringLiteral("1.9e-7")));
    lab.click("labOthers");
    QCOMPARE(lab.charts().size(), 6);  // no step was timed
    for (const LabChart chart : lab.charts()) QCOMPARE(lab.says(chart).isEmpty(), chart != LabChart::WeightDifference);
    lab.click("labOthers");
    lab.click("labStart_depth_sweep");
    QTRY_VERIFY_WITH_TIMEOUT(!lab.runs->busy() && lab.runs->run(2) != nullptr && lab.runs->run(2)->isDone(), 30'000);
    QCOMPARE(lab.charts(), (QList{LabChart::Loss, LabChart::InputLength, LabChart::TestAccuracy}));
    QVERIFY(lab.says(LabChart::InputLength).contains(QStringLiteral("varies less")));
    QVERIFY(lab.says(LabChart::TestAccuracy).contains(QStringLiteral("trains better")));
    QVERIFY(lab.says(LabChart::WeightDifference).isEmpty());
  }

  void theChartsFollowTheTheme() {
    Laboratory lab;
    lab.begin();
    QTRY_VERIFY_WITH_TIMEOUT(lab.runs->state() == LabRuns::State::Idle, 30'000);
    const auto ground = [&] {
      return lab.window.findChild<LabFigures*>()->chart(LabChart::Loss)->chart()->backgroundBrush().color();
    };
    QTRY_COMPARE(ground(), lightTheme().panel);
    for (QAction* action : lab.window.actions()->themeGroup->actions()) {
      if (action->data().toString() == QStringLiteral("dark")) action->trigger();
    }
    QTRY_COMPARE(ground(), darkTheme().panel);
    applyTheme(*qApp, lightTheme());
    QTRY_COMPARE(ground(), lightTheme().panel);
  }

  void whatIsLeftIsNotCut() {
    Laboratory lab(kSlowly);
    lab.begin();
    auto* words = lab.child<QLabel>("labProgressWords");
    QTRY_VERIFY(words->isVisible());
    words->setText(QStringLiteral("Run 12: 99%, about 99 min left"));
    QTRY_VERIFY(words->width() >= words->sizeHint().width());
    lab.runs->stop();
    QTRY_VERIFY_WITH_TIMEOUT(lab.runs->state() == LabRuns::State::Idle, 30'000);
  }

  void aCardStartsItsClaimAndSaysWhatCameOut_data() {
    QTest::addColumn<QString>("card");
    QTest::addColumn<QRegularExpression>("says");
    const auto row = [](const char* card, const char* says) {
      QTest::newRow(card) << QString::fromLatin1(card) << QRegularExpression(QLatin1String(says));
    };
    row("equivalence", "^confirmed on .*: the largest difference is 1.9e-7$");
    row("depth_sweep", "^not confirmed on .*: 77.1%$");
    row("dropout", "^undecided on .*: equally far$");
  }
  void aCardStartsItsClaimAndSaysWhatCameOut() {
    QFETCH(const QString, card);
    QFETCH(const QRegularExpression, says);
    Laboratory lab;
    lab.click("labClaims");
    auto* state = lab.child<QLabel>(qPrintable(QStringLiteral("labState_") + card));
    QCOMPARE(state->text(), QStringLiteral("not run yet"));
    lab.click(qPrintable(QStringLiteral("labStart_") + card));
    QTRY_VERIFY_WITH_TIMEOUT(!lab.runs->busy() && lab.runs->run(1) != nullptr && lab.runs->run(1)->isDone(), 30'000);
    QVERIFY2(says.match(state->text()).hasMatch(), qPrintable(state->text()));
    QVERIFY(!lab.form->isVisible());
    QVERIFY2(state->wordWrap(), "it is never cut");
    const auto labels = state->parentWidget()->findChildren<QLabel*>();
    QVERIFY2(std::ranges::any_of(labels, [](auto* each) { return each->text() == QStringLiteral("took 61.0 s here"); }),
             "the whole of the run counts, not its last epoch");
    lab.child<QTableView>("labTable")->setCurrentIndex({});
    QTest::mouseClick(state, Qt::LeftButton);
    QVERIFY(lab.child<QTableView>("labTable")->currentIndex().isValid());
  }

  void theSettingsOfAClaimAreChangedInTheForm() {
    Laboratory lab;
    lab.click("labClaims");
    lab.click("labSettings_dropout");
    QVERIFY(lab.form->isVisible());
    QCOMPARE(lab.form->settings(), lab::usualSettings(lab::Experiment::Dropout));
  }

  void itPausesGoesOnStopsAndIsThereAgain() {
    {
      Laboratory lab(kSlowly);
      lab.begin();
      lab.click("labAct");
      QTRY_VERIFY(lab.runs->state() == LabRuns::State::Paused);
      const double paused = lab.runs->fraction();
      QTest::qWait(200);
      QCOMPARE(lab.runs->fraction(), paused);
      QCOMPARE(lab.child<QAbstractButton>("labAct")->text(), QStringLiteral("Resume"));
      lab.click("labAct");
      QTRY_VERIFY(lab.runs->fraction() > paused);
      lab.click("labStop");
      QTRY_VERIFY(!lab.runs->busy());
      QVERIFY(lab.cell(0, LabTable::State).startsWith(QStringLiteral("stopped, epoch")));
    }
    Laboratory again;
    QTRY_COMPARE(again.table->rowCount(), 6);
    QVERIFY(again.cell(0, LabTable::State).startsWith(QStringLiteral("stopped, epoch")));
    again.click("labAct");
    QTRY_COMPARE(again.cell(0, LabTable::State), QStringLiteral("done"));
  }

  void aRunThatWasStoppedConfirmsNothing() {
    Laboratory lab(kSlowly);
    lab.begin();
    QTRY_VERIFY(lab.runs->fraction() > 0.1);
    lab.click("labStop");
    QTRY_VERIFY(!lab.runs->busy());
    const QString said = lab.says(LabChart::WeightDifference);
    const QRegularExpression open(QStringLiteral("Not decided: the run was stopped after \\d+ of \\d+ epochs\\."));
    QVERIFY2(open.match(said).hasMatch(), qPrintable(said));
    QVERIFY2(!said.contains(QStringLiteral("onfirmed")), qPrintable(said));
    lab.click("labAct");
    QTRY_COMPARE_WITH_TIMEOUT(lab.cell(0, LabTable::State), QStringLiteral("done"), 30'000);
    QTRY_VERIFY(lab.says(LabChart::WeightDifference).contains(QStringLiteral("Confirmed")));
  }

  void aRunWhoseWindowGoesIsInterruptedNotLost() {
    {
      Laboratory lab(kSlowly);
      lab.begin();
      QTRY_VERIFY(lab.runs->fraction() > 0.2);
    }
    Laboratory again;
    QVERIFY(again.cell(0, LabTable::State).startsWith(QStringLiteral("interrupted, epoch")));
    QVERIFY(again.child<QAbstractButton>("labAct")->isVisible());
  }

  void whatWasFoundAtAStopIsNotToldOfWhatCameAfterIt() {
    {
      Laboratory lab(kSlowly);
      lab.begin();
      QTRY_VERIFY(lab.runs->fraction() > 0.1);
      lab.click("labStop");
      QTRY_VERIFY(!lab.runs->busy());
      QVERIFY(!lab.runs->run(1)->findings.empty());
    }
    {
      Laboratory lab(kSlowly);
      lab.click("labAct");
      QTRY_VERIFY(lab.runs->fraction() > 0.6);
    }
    Laboratory again;
    QVERIFY(again.cell(0, LabTable::State).startsWith(QStringLiteral("interrupted, epoch")));
    QVERIFY(again.runs->run(1)->findings.empty());
  }

  void aRunOfAGpuGoesOnOnTheCpu() {
    {
      Laboratory lab(QStringList{QStringLiteral("--gpu"), QStringLiteral("H100")} + kSlowly);
      QTRY_VERIFY(lab.window.engine()->state() == EngineClient::State::Ready);
      QTest::keyClick(lab.child<Segmented>("lab_device"), Qt::Key_Right);
      lab.begin();
      lab.click("labStop");
      QTRY_VERIFY(!lab.runs->busy());
    }
    {
      Laboratory lab;
      QCOMPARE(lab.runs->run(1)->settings.device, std::string("cuda"));
      lab.runs->resume(1, "cpu");
      QTRY_COMPARE(lab.cell(0, LabTable::State), QStringLiteral("done"));
    }
    Laboratory again;
    QCOMPARE(again.runs->run(1)->settings.device, std::string("cpu"));
    QCOMPARE(again.cell(0, LabTable::State), QStringLiteral("done"));
  }

  void goOnDoesNotComeToWhereStopWas() {
    Laboratory lab(kSlowly);
    lab.begin();
    const QPoint place = lab.child<QAbstractButton>("labStop")->mapToGlobal(QPoint(4, 4));
    lab.click("labStop");
    QTRY_VERIFY(!lab.runs->busy());
    const auto* goOn = lab.child<QAbstractButton>("labAct");
    QTRY_VERIFY(goOn->isVisible());
    QVERIFY(!goOn->rect().contains(goOn->mapFromGlobal(place)));
  }

  void anEngineThatEndsSaysSoAndTheRunIsKept() {
    Laboratory lab({QStringLiteral("--crash"), QStringLiteral("lab")});
    lab.click("labStart");
    QTRY_VERIFY(!lab.runs->busy() && !lab.runs->problem().isEmpty());
    QCOMPARE(lab.cell(0, LabTable::State), QStringLiteral("not started"));
    QVERIFY2(lab.window.engine()->state() != EngineClient::State::Stopped, "the window's own engine goes on");
  }

  void aFieldThatCannotBeReadSaysSo() {
    Laboratory lab;
    lab.write("lab_epochs", QStringLiteral("many"));
    QCOMPARE(lab.child<QLabel>("labProblem")->text(), QStringLiteral("“many” cannot be read as epochs."));
    QVERIFY(!lab.child<QAbstractButton>("labStart")->isEnabled());
    lab.write("lab_epochs", QStringLiteral("0"));
    QVERIFY(lab.child<QLabel>("labProblem")->text().contains(QStringLiteral("Epochs is 0")));
    lab.write("lab_epochs", QStringLiteral("12"));
    QVERIFY(!lab.child<QLabel>("labProblem")->isVisible());
    QVERIFY(lab.child<QAbstractButton>("labStart")->isEnabled());
    QCOMPARE(lab.form->settings().epochs, 12);
    lab.write("lab_layers", QStringLiteral("6, 15"));
    QCOMPARE(lab.form->settings().layers, (std::vector<int>{6, 15}));
  }

  void fieldsFollowWhatIsChosen() {
    Laboratory lab;
    QVERIFY(lab.child<QLineEdit>("lab_momentum")->isVisible());
    lab.choose("lab_optimizer", 1);
    QVERIFY(!lab.child<QLineEdit>("lab_momentum")->isVisible());
    QCOMPARE(lab.form->settings().optimizers.front().momentum, 0.0);
    QVERIFY(lab.form->problem().isEmpty());
    lab.choose("lab_architecture", 2);
    QVERIFY(lab.child<QLineEdit>("lab_heads")->isVisible());
    QVERIFY2(lab.form->problem().isEmpty(), qPrintable(lab.form->problem()));
    lab.choose("lab_architecture", 0);
    QVERIFY(!lab.child<QLineEdit>("lab_heads")->isVisible());
    QCOMPARE(lab.form->settings().optimizers.front().kind, lab::OptimizerKind::Adam);
  }

  void aRunIsTrainedOnTheGpuWhereThereIsOne() {
    for (const QString& gpu : {QString(), QStringLiteral("H100")}) {
      Laboratory lab(gpu.isEmpty() ? QStringList() : QStringList{QStringLiteral("--gpu"), gpu});
      QTRY_VERIFY(lab.window.engine()->state() == EngineClient::State::Ready);
      QTest::keyClick(lab.child<Segmented>("lab_device"), Qt::Key_Right);
      QCOMPARE(lab.form->settings().device, gpu.isEmpty() ? std::string("cpu") : std::string("cuda"));
      QVERIFY(lab.form->problem().isEmpty());
    }
  }

  void tickedNetworksOfSeveralRunsStandSideBySide() {
    Laboratory lab;
    for (int run = 0; run < 2; ++run) {
      lab.click("labStart");
      QTRY_VERIFY(!lab.runs->busy() && lab.cell(0, LabTable::State) == QStringLiteral("done"));
    }
    QCOMPARE(lab.table->rowCount(), 12);
    QCOMPARE(lab.linesOf(LabChart::TestAccuracy), 3);
    auto* paler = lab.child<ElidedLabel>("labPaler");
    QCOMPARE(paler->accessibleName(), QStringLiteral("fainter lines: float64"));  // among the differences
    lab.tick(1);
    lab.tick(7);
    QCOMPARE(lab.linesOf(LabChart::TestAccuracy), 2);
    QVERIFY2(paler->accessibleName().startsWith(QStringLiteral("fainter lines: run ")),
             qPrintable(paler->accessibleName()));
    lab.tick(7);
    QCOMPARE(paler->accessibleName(), QString());
  }

  void aTrainedNetworkIsOpenedAsAModel() {
    Laboratory lab;
    lab.click("labStart");
    QTRY_COMPARE(lab.cell(0, LabTable::Weights), QStringLiteral("Open model"));
    Q_EMIT lab.child<QTableView>("labTable")->activated(lab.table->index(1, LabTable::Run));
    QTRY_COMPARE(lab.session.path(), lab.table->row(1).weights);
    QVERIFY(!lab.window.findChild<LabPage*>()->isVisible());
  }

  void settingsAreWrittenAndReadAgain() {
    Laboratory lab;
    lab.write("lab_epochs", QStringLiteral("17"));
    lab.click("labSave");
    const QString path = folder_.filePath(QStringLiteral("run.json"));
    lab.answerFileDialog("labSaveDialog", path);
    lab.write("lab_epochs", QStringLiteral("3"));
    lab.click("labOpen");
    lab.answerFileDialog("labOpenDialog", path);
    QCOMPARE(lab.form->settings().epochs, 17);
    const QString broken = folder_.filePath(QStringLiteral("broken.json"));
    test::write(broken, "{\"epochs\": []}");
    lab.click("labOpen");
    lab.answerFileDialog("labOpenDialog", broken);
    QVERIFY(lab.child<QLabel>("labProblem")->isVisible());
    QCOMPARE(lab.form->settings().epochs, 17);
  }

  // What a hostile project or folder may hold: it is shown or left out, and nothing is waited for.
  void figuresBeyondMeasureAreNotDrawn() {
    lab::RunResult result{.run = "1",
                          .settings = lab::usualSettings(lab::Experiment::Equivalence),
                          .end = lab::RunEnd::Done,
                          .records = {},
                          .findings = {},
                          .costs = {},
                          .weights = {},
                          .machine = {}};
    for (const double number : {1e308, 5e-324, -1.0}) {
      lab::RunRecord record;
      record.event = lab::RunEvent::Epoch;
      record.member = lab::membersOf(result.settings).front();
      record.epoch = static_cast<int>(result.records.size());
      record.train_loss = number;
      record.gradient_norms = {number};
      record.inputs = {{0, 0, number, number, 0, 0}};
      result.records.push_back(record);
    }
    result.findings.assign(100'000, {std::string(2000, 'x'), true, {}, {}, {}});
    Laboratory lab;
    lab.runs->bring({result});
    QTRY_COMPARE(lab.table->rowCount(), 6);
    QCOMPARE(lab.linesOf(LabChart::Loss), 0);
  }

  void filesThatNeverEndAreLeftOut() {
    const QDir runs(usualRunsFolder());
    for (const char* name : {"1", "2", "007", "2147483647"}) QVERIFY(runs.mkpath(QLatin1String(name)));
    QCOMPARE(mkfifo(qPrintable(runs.filePath(QStringLiteral("1/run.json"))), 0600), 0);
    QVERIFY(QFile::link(QStringLiteral("/dev/zero"), runs.filePath(QStringLiteral("2/run.json"))));
    Laboratory lab;
    QVERIFY(lab.child<QLabel>("labEmpty")->isVisible());
    lab.click("labStart");
    QTRY_COMPARE(lab.cell(0, LabTable::Run), QStringLiteral("3"));
    QTRY_VERIFY(!lab.runs->busy());
  }

  void aLongRunIsReadQuickly() {
    lab::RunSettings settings = lab::usualSettings(lab::Experiment::Equivalence);
    settings.epochs = 20'000;
    const auto run = makeRun(usualRunsFolder(), settings);
    QVERIFY(run.has_value());
    KeptRun read;
    QElapsedTimer watch;
    watch.start();
    lab::RunRecord record;
    record.event = lab::RunEvent::Epoch;
    for (int epoch = 0; epoch <= settings.epochs; ++epoch) {
      for (const lab::RunMember& member : lab::membersOf(settings)) {
        record.member = member;
        record.epoch = epoch;
        addRecord(read, record);
      }
    }
    addRecord(read, record);
    QCOMPARE(read.records.size(), size_t{120'006});
    QVERIFY2(watch.elapsed() < 20'000, "it looks through all that were there before");
  }

  void twoWindowsDoNotTrainTheSameRun() {
    Laboratory lab(kSlowly);
    lab.begin();
    Laboratory other;
    QTRY_COMPARE(other.table->rowCount(), 6);
    other.runs->resume(1);
    QVERIFY(!other.runs->busy());
    QVERIFY(other.runs->problem().contains(QStringLiteral("Another window")));
  }

  void aProjectHasTheRunsThatWereTrainedWithIt() {
    const QString project = folder_.filePath(QStringLiteral("lab.normlens"));
    {
      Laboratory lab;
      lab.openAndAnalyse(test::modelFile(folder_));
      lab.window.actions()->laboratory->trigger();
      lab.click("labStart");
      QTRY_VERIFY(lab.runs->ofProject().size() == 1 && !lab.runs->busy());
      QVERIFY(lab.window.project()->save(project));
    }
    QDir(usualRunsFolder()).removeRecursively();
    Laboratory again;
    QCOMPARE(again.table->rowCount(), 0);
    for (int time = 0; time < 2; ++time) {  // it is kept once
      QVERIFY(again.window.project()->open(project));
      QTRY_VERIFY(again.session.plan().has_value() && !again.session.busy());
      QTRY_COMPARE(again.table->rowCount(), 6);
    }
    QCOMPARE(again.cell(0, LabTable::State), QStringLiteral("done"));
    QVERIFY(!again.window.project()->dirty());
  }

 private:
  QTemporaryDir folder_;
};

}  // namespace normlens::ui

int main(int argc, char** argv) { return normlens::test::runShellTest<normlens::ui::LabTest>(argc, argv); }
#include "test_lab.moc"
