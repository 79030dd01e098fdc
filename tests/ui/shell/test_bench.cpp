// The Benchmark page: what is measured, live, to its end or not, and what becomes of a measurement.
#include <QComboBox>
#include <QLabel>
#include <QPushButton>
#include <QSpinBox>
#include <QTableView>
#include <csignal>

#include "tests/ui/shell/bench_window.h"
#include "ui/session/project_keeper.h"
#include "ui/window/frame/story_segment.h"
#include "ui/words/format.h"

namespace normlens::ui {

class TestBench final : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void initTestCase() { model_ = test::modelFile(folder_); }

  void measuringDrawsAsItGoes() {
    BenchShown shown(model_, {QStringLiteral("--round"), QStringLiteral("20")});
    shown.child<QSpinBox>("benchRounds")->setValue(30);
    shown.click("benchStart");
    auto* chart = shown.child<ChartView>("benchChart");
    QTRY_VERIFY(shown.session.measurements()->live().result().has_value());
    QTRY_VERIFY(chart->isVisible() && lineNamed(*chart, QStringLiteral("folded")) != nullptr);
    const int early = static_cast<int>(lineNamed(*chart, QStringLiteral("folded"))->count());
    QVERIFY(early < 30);
    QVERIFY(shown.child<QAbstractButton>("benchStop")->isVisible());
    QTRY_VERIFY(shown.session.measurements()->last().has_value());
    QCOMPARE(lineNamed(*chart, QStringLiteral("folded"))->count(), 30);
    QVERIFY(!shown.session.measurements()->live().result().has_value());
    QVERIFY(!shown.session.measurements()->last()->cancelled);
    for (const char* kind : {"benchDistribution", "benchSpeedup", "benchOps", "benchBreakEven"}) {
      shown.click(kind);
      QVERIFY2(chart->isVisible(), kind);
      QVERIFY2(!chart->chart()->series().isEmpty(), kind);
    }
  }

  void anyTwoModelsAreMeasured() {
    Shown shown(model_);
    shown.window.workspace()->bottom()->showTab(BottomPanel::Benchmark);
    auto* start = shown.child<QPushButton>("benchStart");
    QVERIFY(!start->isEnabled());  // nothing is folded
    const auto choose = [&](const char* side, const QString& name) {
      auto* field = shown.child<QComboBox>(side);
      const int entry = field->findText(name);
      QVERIFY2(entry >= 0, qPrintable(name));
      field->setCurrentIndex(entry);
      Q_EMIT field->activated(entry);
    };
    choose("benchB", QStringLiteral("fused"));
    QVERIFY(start->isEnabled());
    choose("benchA", QStringLiteral("folded, fast"));
    QVERIFY(!start->isEnabled());
    shown.session.fold();
    QTRY_VERIFY(start->isEnabled());
    shown.click("benchStart");
    QTRY_VERIFY(shown.session.measurements()->last().has_value());
    auto* chart = shown.child<ChartView>("benchChart");
    QVERIFY(lineNamed(*chart, QStringLiteral("folded, fast")) != nullptr);
    QVERIFY(lineNamed(*chart, QStringLiteral("fused")) != nullptr);
    QVERIFY(!shown.session.measurements()->last()->points.front().fold_ms);
    QVERIFY(shown.child<StorySegment>("storyMeasured")->accessibleName().contains(QStringLiteral("folded, fast")));

    choose("benchB", QStringLiteral("alone"));
    shown.click("benchStart");
    QTRY_VERIFY(!shown.session.busy() && !shown.session.measurements()->last()->points.front().b);
  }

  void modelsOfFilesAreLabelledByTheirRuntimes() {
    Shown shown(model_);
    shown.window.workspace()->bottom()->showTab(BottomPanel::Benchmark);
    const auto chooseFile = [&](const char* side, const QString& name) {
      auto* field = shown.child<QComboBox>(side);
      const QString before = field->currentText();
      field->setCurrentIndex(field->count() - 1);
      Q_EMIT field->activated(field->count() - 1);
      QCOMPARE(field->currentText(), before);  // until a file is chosen
      shown.answerFileDialog(qPrintable(QLatin1String(side) + QStringLiteral("Dialog")),
                             test::modelFile(folder_, name));
      QCOMPARE(field->currentText(), name);
    };
    chooseFile("benchA", QStringLiteral("one.pt"));
    chooseFile("benchB", QStringLiteral("two.onnx"));
    shown.click("benchStart");
    QTRY_VERIFY(shown.session.measurements()->last().has_value());
    QCOMPARE(text(shown.session.measurements()->last()->points.front().a.model),
             folder_.filePath(QStringLiteral("one.pt")));
    auto* chart = shown.child<ChartView>("benchChart");
    QVERIFY(lineNamed(*chart, QStringLiteral("one.pt, LibTorch")) != nullptr);
    QVERIFY(lineNamed(*chart, QStringLiteral("two.onnx, ONNX Runtime")) != nullptr);
    QVERIFY(shown.child<QLabel>("benchNote")->text().contains(QStringLiteral("ONNX Runtime 1.31.0")));
  }

  void stoppedItKeepsWhatWasMeasured() {
    BenchShown shown(model_, {QStringLiteral("--round"), QStringLiteral("20")});
    type(shown, "benchSweep", QStringLiteral("seq=64,256,1024"));
    shown.click("benchStart");
    QTRY_VERIFY(shown.session.measurements()->live().result() &&
                shown.session.measurements()->live().result()->points.size() == 2);
    shown.click("benchStop");
    QTRY_VERIFY(!shown.session.busy());
    QVERIFY(shown.session.measurements()->last().has_value());
    QVERIFY(shown.session.measurements()->last()->cancelled);
    QVERIFY(shown.session.measurements()->last()->points.size() >= 2);
    QVERIFY(shown.session.measurements()->last()->points.front().complete);
    QVERIFY(shown.child<QLabel>("benchNote")->isVisible());
    shown.click("benchSpeedup");
    QVERIFY(shown.child<ChartView>("benchChart")->isVisible());
  }

  void anEngineThatDiesLeavesWhatItHadTold() {
    BenchShown shown(model_, {QStringLiteral("--round"), QStringLiteral("20")});
    type(shown, "benchSweep", QStringLiteral("seq=64,256,1024"));
    shown.click("benchStart");
    QTRY_VERIFY(shown.session.measurements()->live().result() &&
                shown.session.measurements()->live().result()->points.size() == 2);
    ::kill(static_cast<pid_t>(shown.window.engine()->processId()), SIGKILL);
    QTRY_COMPARE(shown.window.engine()->state(), EngineClient::State::Dead);
    QVERIFY(!shown.session.busy());
    QVERIFY(shown.session.measurements()->last().has_value());
    QVERIFY(shown.session.measurements()->last()->cancelled);
    QVERIFY(shown.session.measurements()->last()->points.front().complete);
    QVERIFY(!shown.session.measurements()->last()->points.back().rounds.empty());
    QVERIFY(shown.child<ChartView>("benchChart")->isVisible());
    QCOMPARE(shown.child<QLabel>("benchNote")->text(), QStringLiteral("Stopped; what was measured stays."));
    QVERIFY(!shown.child<QPushButton>("benchStart")->isEnabled());
    shown.session.recover();
    QTRY_VERIFY(shown.session.plan().has_value() && !shown.session.busy());
    QVERIFY(shown.session.measurements()->last().has_value());  // until the next one is started
    QCOMPARE(shown.session.measurements()->last()->points.size(), size_t{2});
  }

  void aPointThatFailsSaysSoAndTheRestGoesOn() {
    BenchShown shown(model_);
    type(shown, "benchSweep", QStringLiteral("seq=64,16384,256"));
    shown.click("benchStart");
    QTRY_VERIFY(shown.session.measurements()->last().has_value());
    QCOMPARE(shown.session.measurements()->last()->points.size(), size_t{3});
    auto* point = shown.child<QComboBox>("benchPoint");
    QCOMPARE(point->count(), 3);
    point->setCurrentIndex(1);
    Q_EMIT point->activated(1);
    auto* empty = shown.child<QLabel>("benchEmpty");
    QVERIFY(empty->isVisible());
    QVERIFY(empty->text().contains(QStringLiteral("memory does not suffice")));
    QVERIFY(!shown.child<QTableView>("benchFigures")->isVisible());
    shown.click("benchSpeedup");
    auto* chart = shown.child<ChartView>("benchChart");
    QVERIFY(chart->isVisible());
    const QXYSeries* failed = lineNamed(*chart, QStringLiteral("failed"));
    QVERIFY(failed != nullptr);
    QCOMPARE(failed->points().size(), 1);
    QCOMPARE(failed->at(0).x(), 2.0);  // behind both that were measured
    point->setCurrentIndex(0);
    Q_EMIT point->activated(0);
    QVERIFY(shown.child<QTableView>("benchFigures")->isVisible());
    shown.click("benchTableButton");
    QVERIFY(shown.child<QTableView>("benchTable")->isVisible());
  }

  void aProjectKeepsThemAll() {
    BenchShown shown(model_);
    type(shown, "benchSweep", QStringLiteral("seq=64,256"));
    shown.click("benchStart");
    QTRY_VERIFY(shown.session.measurements()->last().has_value());
    shown.session.measure();
    QTRY_VERIFY(!shown.session.busy() && shown.session.measurements()->earlier().size() == 1);
    const auto read = projectFromJson(projectToJson(projectOf(shown.session)));
    QVERIFY(read.has_value());
    QCOMPARE(read->bench->points.size(), size_t{2});
    QCOMPARE(read->benchRuns.size(), size_t{1});
    QCOMPARE(text(read->benchParams.sweep.front()), QStringLiteral("seq=64,256"));
  }

  void aChangedPlanMakesItAnEarlierRun() {
    BenchShown shown(model_);
    shown.session.measure();
    QTRY_VERIFY(shown.session.measurements()->last().has_value());
    shown.session.choices()->keepNorm(2, true);
    QTRY_VERIFY(!shown.session.busy());
    QVERIFY(!shown.session.measurements()->last().has_value());
    QCOMPARE(shown.session.measurements()->earlier().size(), size_t{1});
  }

  void aPlanChangedWhileMeasuringIsNotWhatWasMeasured() {
    BenchShown shown(model_, {QStringLiteral("--round"), QStringLiteral("50")});
    QVERIFY(shown.child<QAction>("flavour_fast")->isEnabled());
    shown.session.measure();
    QVERIFY(!shown.child<QAction>("flavour_fast")->isEnabled());
    QTRY_VERIFY(shown.session.measurements()->live().result().has_value());
    shown.window.workspace()->bottom()->showTab(BottomPanel::Plan);
    shown.session.choices()->keepNorm(2, true);
    QVERIFY(!shown.session.measurements()->last().has_value());
    QTRY_VERIFY(shown.session.plan() && !shown.session.busy());
    QVERIFY(!shown.session.measurements()->last().has_value());
    QCOMPARE(shown.session.measurements()->earlier().size(), size_t{1});  // as an earlier run
    QVERIFY(!shown.child<ChartView>("benchChart")->isVisible());
  }

  void theProgressOfAJobLeavesTheFiguresAlone() {
    BenchShown shown(model_, {QStringLiteral("--slow"), QStringLiteral("export=200")});
    shown.session.measure();
    QTRY_VERIFY(shown.session.measurements()->last().has_value() && !shown.session.busy());
    QSignalSpy resets(shown.child<QTableView>("benchTable")->model(), &QAbstractItemModel::modelReset);
    shown.session.exportTo(folder_.filePath(QStringLiteral("out.pt")));
    QTRY_VERIFY(shown.session.exported().has_value() && !shown.session.busy());
    QCOMPARE(resets.count(), 0);
  }

 private:
  QTemporaryDir folder_;
  QString model_;
};

}  // namespace normlens::ui

int main(int argc, char** argv) { return normlens::test::runShellTest<normlens::ui::TestBench>(argc, argv); }

#include "test_bench.moc"
