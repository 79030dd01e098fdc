// The Benchmark page: measurements as they come, and their figures as pictures, tables and text.
#include <QAbstractItemModelTester>
#include <QChart>
#include <QClipboard>
#include <QComboBox>
#include <QLabel>
#include <QLegend>
#include <QLegendMarker>
#include <QLineEdit>
#include <QMenu>
#include <QPushButton>
#include <QSpinBox>
#include <QTableView>
#include <QValueAxis>
#include <QXYSeries>

#include <csignal>

#include "tests/ui/shell/shown_window.h"
#include "ui/charts/bench_charts.h"
#include "ui/charts/chart_view.h"
#include "ui/client/engine_client.h"
#include "ui/models/bench_export.h"
#include "ui/models/bench_figures.h"
#include "ui/models/bench_table.h"
#include "ui/session/measurements.h"
#include "ui/session/project/project.h"
#include "ui/session/project_keeper.h"
#include "ui/theme/theme.h"
#include "ui/window/bottom/bottom_panel.h"
#include "ui/window/frame/story_segment.h"
#include "ui/window/workspace/workspace.h"
#include "ui/words/bench_text.h"
#include "ui/words/format.h"
#include "ui/words/paper_figures.h"

namespace normlens::ui {
namespace {

struct BenchShown : Shown {
  explicit BenchShown(const QString& model, const QStringList& mischief = {}) : Shown(model, mischief) {
    fold();
    window.workspace()->bottom()->showTab(BottomPanel::Benchmark);
  }
};

QXYSeries* lineNamed(const ChartView& view, const QString& name) {
  for (QAbstractSeries* series : view.chart()->series()) {
    if (series->name() == name) return qobject_cast<QXYSeries*>(series);
  }
  return nullptr;
}

void type(Shown& shown, const char* field, const QString& words) {
  auto* edit = shown.child<QLineEdit>(field);
  edit->setFocus();
  edit->selectAll();
  QTest::keyClicks(edit, words);
}

void sweepTwice(Shown& shown) {
  type(shown, "benchSweep", QStringLiteral("seq=64,256"));
  shown.click("benchStart");
  QTRY_VERIFY(shown.session.measurements()->last().has_value());
  shown.session.measure();
  QTRY_VERIFY(!shown.session.busy() && shown.session.measurements()->earlier().size() == 1);
}

protocol::BenchPoint measuredPoint(const std::string& seq, double speedup) {
  protocol::BenchPoint point;
  point.at = {{"seq", seq}};
  point.a.runtime = "LibTorch 2.15.0";
  point.a.latency.median_ms = 2;
  point.b = point.a;
  point.b->latency.median_ms = 2 / speedup;
  point.rounds = {{2, 2 / speedup}, {2, 2 / speedup}};
  point.speedup = speedup;
  point.noise = false;
  point.complete = true;
  return point;
}

}  // namespace

class TestBench final : public test::ModelTest {
  Q_OBJECT

 private Q_SLOTS:
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

  void roundsEndOnceTheIntervalIsNarrow() {
    BenchShown shown(model_);
    auto* rounds = shown.child<QSpinBox>("benchRounds");
    const int before = rounds->value();
    QVERIFY(before < 200 && shown.session.measurements()->params().until_percent == 0);
    shown.click("benchUntil");
    QCOMPARE(shown.session.measurements()->params().until_percent, 2.0);
    QCOMPARE(rounds->value(), 200);  // at the most
    QCOMPARE(shown.session.measurements()->params().rounds, 200);
    shown.click("benchStart");
    QTRY_VERIFY(shown.session.measurements()->last().has_value() && !shown.session.busy());
    // The fake engine's interval is 0.01 on both sides of 1.06.
    QVERIFY(shown.child<QLabel>("benchNote")->text().endsWith(QStringLiteral("known to ±0.9% after 200 rounds")));
    shown.click("benchUntil");
    QCOMPARE(shown.session.measurements()->params().until_percent, 0.0);
  }

  void anEngineThatStoppedIsNamedWithTheWayOut() {
    Shown shown(model_);
    shown.window.workspace()->bottom()->showTab(BottomPanel::Benchmark);
    const auto* empty = shown.child<QLabel>("benchEmpty");
    QVERIFY2(empty->text().startsWith(QStringLiteral("Fold first")), qPrintable(empty->text()));
    ::kill(static_cast<pid_t>(shown.window.engine()->processId()), SIGKILL);
    QTRY_COMPARE(empty->text(), QStringLiteral("The engine has stopped. Press Restart engine."));
    QCOMPARE(shown.child<QLabel>("proofEmpty")->text(), empty->text());
    QCOMPARE(shown.child<QLabel>("differencesEmpty")->text(), empty->text());
    shown.click("nextAction");
    QTRY_VERIFY(shown.session.served() && shown.session.plan() && !shown.session.busy());
    QVERIFY2(empty->text().startsWith(QStringLiteral("Fold first")), qPrintable(empty->text()));
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
    QCOMPARE(shown.child<QLabel>("benchNote")->text(), QStringLiteral("Stopped; the results so far are kept."));
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
    const auto* figures = shown.child<QTableView>("benchFigures");
    QVERIFY(figures->isVisible());
    QCOMPARE(figures->columnSpan(0, BenchFigures::A), 2);  // the speed-up
    QCOMPARE(figures->columnSpan(figures->model()->rowCount() - 1, BenchFigures::A), 1);
    shown.click("benchTableButton");
    QVERIFY(shown.child<QTableView>("benchTable")->isVisible());
  }

  void aProjectKeepsThemAll() {
    BenchShown shown(model_);
    sweepTwice(shown);
    QCOMPARE(shown.session.measurements()->earlier().size(), 1);
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
    shown.session.measure();
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

  void theModelsAreModels() {
    BenchTable table;
    const QAbstractItemModelTester tableTester(&table, QAbstractItemModelTester::FailureReportingMode::QtTest);
    BenchFigures figures;
    const QAbstractItemModelTester figuresTester(&figures, QAbstractItemModelTester::FailureReportingMode::QtTest);
    protocol::BenchResult result;
    result.points = {measuredPoint("64", 1.1), protocol::BenchPoint()};
    result.points[1].at = {{"seq", "256"}};
    result.points[1].error = "the memory does not suffice";
    result.points[0].a.latency.tokens_per_second = 32000;
    result.points[0].expected_speedup = 1.06;
    result.points[0].fold_ms = 35;
    const PaperFigures papers = paperFigures();
    QVERIFY(!papers.series.isEmpty());
    table.setResult(result, papers.series[0]);
    figures.setPoint(result.points[0]);
    QCOMPARE(table.rowCount(), 2);
    QCOMPARE(table.index(0, BenchTable::Speedup).data().toString(), QStringLiteral("1.100"));
    QCOMPARE(table.index(0, BenchTable::Expected).data().toString(), QStringLiteral("1.060"));
    QCOMPARE(table.index(0, BenchTable::TokensA).data().toString(), QStringLiteral("32000.0"));
    QCOMPARE(table.index(0, BenchTable::TokensB).data().toString(), QStringLiteral("–"));
    QCOMPARE(table.index(0, BenchTable::Fold).data().toString(), QStringLiteral("35.00"));
    const QStringList csv = benchCsv(result, {}).split(QStringLiteral("\r\n"));
    const auto field = [&](const char* head) { return csv[1].split(u',')[csv[0].split(u',').indexOf(head)]; };
    QCOMPARE(field("A tokens per s"), QStringLiteral("32000"));
    QCOMPARE(field("B tokens per s"), QString());
    QCOMPARE(field("expected"), QStringLiteral("1.06"));
    QVERIFY(!benchNotes(result, {}).contains(QStringLiteral("CV")));
    protocol::BenchResult swept = result;
    swept.points[1] = swept.points[0];
    swept.points[1].fold_ms = 37;
    QVERIFY2(benchNotes(swept, {}).contains(QStringLiteral("mean 36 ms, deviation 1.41 ms, CV 3.93%")),
             qPrintable(benchNotes(swept, {})));
    QCOMPARE(table.index(0, BenchTable::Paper).data().toString(), QStringLiteral("1.02×"));
    QCOMPARE(table.index(1, BenchTable::MedianA).data().toString(), QStringLiteral("failed"));
    QVERIFY(table.index(1, BenchTable::MedianA).data(Qt::ToolTipRole).toString().contains(QStringLiteral("memory")));
    QVERIFY(figures.rowCount() >= 8);
    // A figure of both models stands under neither heading.
    for (const BenchFigure& row : figures.rows()) {
      const bool both = row.name == QStringLiteral("speed-up") || row.name == QStringLiteral("expected") ||
                        row.name == QStringLiteral("fold time") || row.name == QStringLiteral("break-even");
      QVERIFY2(row.ofBoth == both && (!both || row.b.isEmpty()), qPrintable(row.name));
    }
    QVERIFY(figures.rows().front().a.startsWith(QStringLiteral("1.10× (")));
    figures.setPoint(result.points[1]);
    QCOMPARE(figures.rowCount(), 0);
  }

  void aWrongResultAndLateTimesAreCautions() {
    protocol::BenchPoint point = measuredPoint("64", 1.1);
    point.outputs = {.max_rel = 1e-6, .noise_floor = 3e-5, .beyond = false};
    QCOMPARE(cautionOf(point), QString());
    point.b->ops_late = true;
    QCOMPARE(cautionOf(point),
             QStringLiteral(
                 "The device waited for launches, so times of single operators are late; treat them with caution."));
    BenchFigures figures;
    figures.setPoint(point);
    const int rows = figures.rowCount();
    point.outputs = {.max_rel = 0.25, .noise_floor = 3e-5, .beyond = true};
    const QString wrong =
        QStringLiteral("The outputs differ by 0.25, the limit is 3e-5. The speed of a wrong result means nothing.");
    QVERIFY(cautionOf(point).startsWith(wrong + u' '));  // one caution hides no other
    point.b->ops_late = false;
    QCOMPARE(cautionOf(point), wrong);
    point.outputs.reset();
    point.outputs_reason = "one has two";
    QCOMPARE(cautionOf(point), QStringLiteral("The outputs could not be compared: one has two."));
    figures.setPoint(point);
    QCOMPARE(figures.rowCount(), rows - 1);
  }

  void thePapersFiguresAreThePapers() {
    const PaperFigures papers = paperFigures();
    const auto gpt2 = std::find_if(papers.series.begin(), papers.series.end(),
                                   [](const PaperSeries& s) { return s.label.startsWith(QStringLiteral("GPT-2 ")); });
    QVERIFY(gpt2 != papers.series.end());
    QCOMPARE(gpt2->over, QStringLiteral("seq"));
    QCOMPARE(*gpt2->at(64), 1 / (1 - 0.0423));
    QCOMPARE(*gpt2->at(16384), 1 / (1 - 0.2147));
    QVERIFY(!gpt2->at(65));
    const auto slowest = std::max_element(papers.folds.begin(), papers.folds.end(), [](const auto& a, const auto& b) {
      return a.breakEven.value_or(0) < b.breakEven.value_or(0);
    });
    QCOMPARE(*slowest->breakEven, 327.8);
    QVERIFY(slowest->label.contains(QStringLiteral("V100")));
  }

  // One measurement has one median, the speed-up is the ratio of the two.
  void theMediansAreTheSameEverywhere() {
    BenchShown shown(model_);
    shown.click("benchStart");
    QTRY_VERIFY(shown.session.measurements()->last().has_value() && !shown.session.busy());
    const protocol::BenchResult result = *shown.session.measurements()->last();
    BenchTable table;
    table.setResult(result, {});
    const QString a = table.index(0, BenchTable::MedianA).data().toString();
    const QString b = table.index(0, BenchTable::MedianB).data().toString();
    const QString story = shown.child<StorySegment>("storyMeasured")->accessibleName();
    QVERIFY2(story.contains(QStringLiteral("%1 → %2 ms").arg(a, b)), qPrintable(story + u' ' + a + u' ' + b));
    BenchFigures figures;
    figures.setPoint(result.points.front());
    const auto median = figures.match(figures.index(0, 0), Qt::DisplayRole, QStringLiteral("median, ms"));
    QCOMPARE(median.size(), 1);
    QCOMPARE(median.first().siblingAtColumn(BenchFigures::A).data().toString(), a);
    QCOMPARE(median.first().siblingAtColumn(BenchFigures::B).data().toString(), b);
    const double told = result.points.front().a.latency.median_ms;
    QVERIFY(benchCsv(result, {}).contains(QString::number(told, 'g', 7)));
    QCOMPARE(a, formatMedian(told));
  }

  void whatWasToldIsTheResultSoFar() {
    BenchCollector collector;
    QVERIFY(!collector.result());
    protocol::BenchUpdate failed;
    failed.points = 2;
    failed.now.error = "no";
    collector.put(failed);
    QVERIFY(collector.result().has_value());
    collector.put({0, 1, 2, measuredPoint("64", 1.1)});
    collector.put({0, 1, 2, measuredPoint("64", 1.2)});
    collector.put({0, 7, 2, measuredPoint("64", 9)});  // never told of 2 to 6
    QCOMPARE(collector.result()->points.size(), size_t{2});
    QVERIFY(firstMeasured(*collector.result()) == &collector.result()->points[1]);
    QCOMPARE(collector.result()->points[1].speedup, 1.2);
    QVERIFY(collector.result()->cancelled);
  }

  void aModelAgainstItselfHasTwoNames() {
    protocol::BenchPoint point = measuredPoint("64", 1);
    point.a.model = point.b->model = "original";
    QCOMPARE(sideNames(point), qMakePair(QStringLiteral("original, A"), QStringLiteral("original, B")));
    point.b.reset();
    QCOMPARE(sideNames(point), qMakePair(QStringLiteral("original"), QString()));
  }

  void aFewDisturbedRoundsDoNotSqueezeTheOthers() {
    protocol::BenchResult result;
    result.points = {measuredPoint("64", 1)};
    result.points[0].rounds.assign(20, {2, 2.5});
    const auto axis = [&] {
      const auto chart = makeBenchChart(BenchChart::Latency, {result}, lightTheme());
      auto* numbers = qobject_cast<QValueAxis*>(chart->axes(Qt::Vertical).front());
      return qMakePair(numbers->max(), numbers->titleText());
    };
    QCOMPARE(axis().second, QStringLiteral("ms"));
    result.points[0].rounds[3].first = 190;
    QVERIFY(axis().first < 3);
    QCOMPARE(axis().second, QStringLiteral("ms (1 round off the scale)"));
    result.points[0].rounds[5].second = 170;
    QCOMPARE(axis().second, QStringLiteral("ms (2 rounds off the scale)"));
    for (size_t i = 6; i < 12; ++i) result.points[0].rounds[i].first = 190;  // no longer an exception
    QVERIFY(axis().first > 190);
    QCOMPARE(axis().second, QStringLiteral("ms"));
  }

  void aSlowerFoldOnACpuIsToldTheFlavourThatIsNot() {
    protocol::BenchPoint point = measuredPoint("64", 0.9);
    point.a.model = "original";
    point.b->model = "folded";
    point.device = "cpu";
    point.norm = "portable";
    QVERIFY(losesToSeveralOps(point));
    const auto without = [&](const auto& change) {
      protocol::BenchPoint other = point;
      change(other);
      return losesToSeveralOps(other);
    };
    QVERIFY(!without([](auto& other) { other.noise = true; }));
    QVERIFY(!without([](auto& other) { other.speedup = 1.1; }));
    QVERIFY(!without([](auto& other) { other.norm = "fast"; }));
    QVERIFY(!without([](auto& other) { other.device = "cuda"; }));
    QVERIFY(!without([](auto& other) { other.b->runtime = "ONNX Runtime 1.31.0"; }));
    QVERIFY(!without([](auto& other) { other.a.model = "fused"; }));
  }

  void zoomAndHiddenSeriesOutliveNewFigures() {
    BenchShown shown(model_);
    shown.session.measure();
    QTRY_VERIFY(shown.session.measurements()->last().has_value());
    auto* chart = shown.child<ChartView>("benchChart");
    const auto range = [&] {
      auto* axis = qobject_cast<QValueAxis*>(chart->chart()->axes(Qt::Vertical).front());
      return axis->max() - axis->min();
    };
    const double whole = range();
    chart->zoomAt(chart->rect().center(), 2);
    const double near = range();
    QVERIFY(near < whole);
    const QString original = QStringLiteral("original");
    for (QLegendMarker* marker : chart->chart()->legend()->markers()) {
      if (marker->label() == original) Q_EMIT marker->clicked();
    }
    QVERIFY(chart->isHidden(original));
    QVERIFY(!lineNamed(*chart, original)->isVisible());
    shown.session.measure();
    QTRY_VERIFY(!shown.session.busy() && shown.session.measurements()->earlier().size() == 1);
    QVERIFY(!lineNamed(*chart, original)->isVisible());
    QCOMPARE(range(), near);
    QTest::mouseDClick(chart->viewport(), Qt::LeftButton, {}, chart->rect().center());
    QCOMPARE(range(), whole);
    chart->toggleSeries(original);
    QVERIFY(lineNamed(*chart, original)->isVisible());
  }

  void thePointerReadsValues() {
    BenchShown shown(model_);
    shown.session.measure();
    QTRY_VERIFY(shown.session.measurements()->last().has_value());
    auto* chart = shown.child<ChartView>("benchChart");
    auto* line = lineNamed(*chart, QStringLiteral("folded"));
    const auto* hover = chart->findChild<QLabel*>(QStringLiteral("chartHover"));
    Q_EMIT line->hovered(line->at(3), true);
    QVERIFY(!hover->isHidden() && hover->text().startsWith(QStringLiteral("folded, round 4: ")));
    Q_EMIT line->hovered(line->at(3), false);
    QVERIFY(hover->isHidden());
  }

  void earlierRunsAndPapersLieBesideIt() {
    BenchShown shown(model_);
    sweepTwice(shown);
    QCOMPARE(shown.session.measurements()->earlier().size(), 1);
    shown.click("benchSpeedup");
    auto* chart = shown.child<ChartView>("benchChart");
    const auto choose = [&](int menu, int entry) {
      QMenu* beside = shown.child<QPushButton>("benchBeside")->menu();
      beside->actions()[menu]->menu()->actions()[entry]->trigger();
    };
    QVERIFY(lineNamed(*chart, QStringLiteral("earlier")) == nullptr);
    choose(0, 1);
    QVERIFY(lineNamed(*chart, QStringLiteral("earlier")) != nullptr);
    choose(1, 2);
    const auto* paper = lineNamed(*chart, QStringLiteral("GPT-2 on A100-40GB, batch 4"));
    QVERIFY(paper != nullptr);
    QCOMPARE(paper->count(), 5);
    QCOMPARE(paper->pen().style(), Qt::DashLine);
  }

  void figuresGoToFilesAndTheClipboard() {
    BenchShown shown(model_);
    shown.session.measure();
    QTRY_VERIFY(shown.session.measurements()->last().has_value());
    shown.child<QAction>("benchCopyMarkdown")->trigger();
    const QString copied = QGuiApplication::clipboard()->text();
    QVERIFY(copied.startsWith(QStringLiteral("| Point |")));
    QVERIFY2(copied.contains(text(shown.session.measurements()->last()->versions)), qPrintable(copied));
    const auto save = [&](const char* action, const char* dialog, const QString& name) {
      const QString path = folder_.filePath(name);
      shown.child<QAction>(action)->trigger();
      shown.answerFileDialog(dialog, path);
      return test::contentOf(path);
    };
    QVERIFY(save("benchSaveCsv", "benchCsvDialog", QStringLiteral("a.csv")).startsWith("Point,"));
    QVERIFY(save("benchSaveJson", "benchJsonDialog", QStringLiteral("a.json")).contains("\"samples_ms\""));
    QVERIFY(save("benchSavePicture", "benchPictureDialog", QStringLiteral("a.png")).startsWith("\x89PNG"));
    const QString svg = folder_.filePath(QStringLiteral("a.svg"));
    QVERIFY(shown.child<ChartView>("benchChart")->savePicture(svg) && test::contentOf(svg).contains("<svg"));
    QVERIFY(save("benchSavePicture", "benchPictureDialog", QStringLiteral("a.pdf")).startsWith("%PDF"));
    shown.child<QAction>("benchCopyLatex")->trigger();
    QVERIFY(QGuiApplication::clipboard()->text().startsWith(QStringLiteral("\\begin{tabular}")));
    for (const char* name : {"none/a.svg", "none/a.pdf"})
      QVERIFY(!shown.child<ChartView>("benchChart")->savePicture(folder_.filePath(QLatin1String(name))));
  }
};

}  // namespace normlens::ui

int main(int argc, char** argv) { return normlens::test::runShellTest<normlens::ui::TestBench>(argc, argv); }

#include "test_bench.moc"
