// The geometry probe's page: it runs by itself, its charts and its table show the same norm, and other inputs make it
// run anew.
#include <QLabel>
#include <QTableView>
#include <QTemporaryDir>

#include "tests/ui/shell/shown_window.h"
#include "ui/learn/depth_chart.h"
#include "ui/models/probe_table.h"
#include "ui/session/probe_run.h"
#include "ui/window/actions.h"
#include "ui/window/learn/probe_page.h"

namespace normlens::ui {

class ProbeTest final : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void initTestCase() { QStandardPaths::setTestModeEnabled(true); }

  void itRunsWhenItIsFirstSeen() {
    Shown shown;
    shown.openAndAnalyse(test::modelFile(folder_, QStringLiteral("gpt2.pt")));
    QVERIFY(!shown.session.probe()->result());
    shown.window.actions()->probe->trigger();
    QTRY_VERIFY(shown.session.probe()->result());
    const auto* table = shown.child<QTableView>("probeTable");
    QCOMPARE(table->model()->rowCount(), static_cast<int>(shown.session.analysis()->norms.size()));
    const QString says = shown.child<QLabel>("probeSays")->text();
    QVERIFY2(says.contains(QStringLiteral("90.0°")) && says.contains(QStringLiteral("7.16°")), qPrintable(says));
    QVERIFY(!shown.child<QWidget>("toolBar")->isVisible());
    QTest::keyClick(shown.window.findChild<ProbePage*>(), Qt::Key_Escape);
    QVERIFY(shown.child<QWidget>("toolBar")->isVisible());
  }

  void withoutAModelItSaysSo() {
    Shown shown;
    shown.window.actions()->probe->trigger();
    QCOMPARE(shown.child<QLabel>("probeSays")->text(), QStringLiteral("No model is open."));
    QVERIFY(!shown.child<QAbstractButton>("probeRun")->isEnabled());
  }

  void chartsAndTableShowTheSameNorm() {
    Shown shown;
    shown.openAndAnalyse(test::modelFile(folder_, QStringLiteral("gpt2.pt")));
    shown.window.actions()->probe->trigger();
    QTRY_VERIFY(shown.session.probe()->result());
    auto* chart = shown.window.findChild<ProbePage*>()->findChildren<DepthChart*>().first();
    QTest::mouseClick(chart, Qt::LeftButton, {}, chart->placeOf(3, 90).toPoint());
    QCOMPARE(shown.child<QTableView>("probeTable")->currentIndex().row(), 3);
  }

  void aFoldIsProbedAndStandsAtRightAngles() {
    Shown shown;
    shown.openAndAnalyse(test::modelFile(folder_, QStringLiteral("gpt2.pt")));
    shown.session.fold();
    QTRY_VERIFY(shown.session.foldResult() && !shown.session.busy());
    shown.session.probe()->start({.folded = true});
    QTRY_VERIFY(shown.session.probe()->result());
    for (const protocol::ProbeRow& row : shown.session.probe()->result()->rows) QCOMPARE(row.input.angle_deg, 90.0);
  }

  void findingsAreMadeOfTheFigures() {
    protocol::ProbeResult result;
    protocol::ProbeRow row;
    row.kind = "LayerNorm";
    row.width = 64;
    row.input = {82, 1, 1, 0, 0.02, 0, 4, 0, 0};
    row.swap = {0.5, 0.4};
    result.rows = {row, row};
    result.rows[1].input.angle_deg = 90;
    result.rows[1].input.angle_std = 0;
    result.rows[1].input.mean_share = 0;
    result.rows[1].swap = {0, 0};
    const QString says = probeFindings(result).join(u' ');
    QVERIFY2(says.contains(QStringLiteral("1 of 2 LayerNorms")), qPrintable(says));
    QVERIFY2(says.contains(QStringLiteral("0 to 2 %")), qPrintable(says));
    QVERIFY2(says.contains(QStringLiteral("1 of them would change")), qPrintable(says));
    QVERIFY2(says.contains(QStringLiteral("1 stand at exactly 90°")), qPrintable(says));
    QCOMPARE(probeFindings({}).size(), 1);
  }

 private:
  QTemporaryDir folder_;
};

}  // namespace normlens::ui

QTEST_MAIN(normlens::ui::ProbeTest)
#include "test_probe.moc"
