// The geometry probe's page: it runs by itself, its charts and its table show the same norm, and other inputs make it
// run anew.
#include <QLabel>
#include <QPainter>
#include <QTableView>
#include <QTemporaryDir>

#include "tests/ui/shell/shown_window.h"
#include "ui/learn/depth_chart.h"
#include "ui/session/probe_run.h"
#include "ui/widgets/segmented.h"
#include "ui/window/actions.h"
#include "ui/window/learn/probe_charts.h"
#include "ui/window/learn/probe_page.h"

namespace normlens::ui {

class ProbeTest final : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void itRunsWhenItIsFirstSeen() {
    Shown shown(test::modelFile(folder_, QStringLiteral("gpt2.pt")));
    QVERIFY(!shown.session.probe()->opened());
    shown.window.actions()->probe->trigger();
    QTRY_VERIFY(shown.session.probe()->opened());
    const auto* table = shown.child<QTableView>("probeTable");
    QCOMPARE(table->model()->rowCount(), static_cast<int>(shown.session.analysis()->norms.size()));
    QCOMPARE(shown.child<QLabel>("probeSays")->text(), QStringLiteral("Its norms get inputs near 90°."));
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
    Shown shown(test::modelFile(folder_, QStringLiteral("gpt2.pt")));
    shown.window.actions()->probe->trigger();
    QTRY_VERIFY(shown.session.probe()->opened());
    auto* chart = shown.window.findChild<ProbePage*>()->findChildren<DepthChart*>().first();
    QTest::mouseClick(chart, Qt::LeftButton, {}, chart->placeOf(3, 90).toPoint());
    QCOMPARE(shown.child<QTableView>("probeTable")->currentIndex().row(), 3);
  }

  void aFoldStandsBesideItsOriginal() {
    Shown shown(test::modelFile(folder_, QStringLiteral("gpt2.pt")));
    shown.window.actions()->probe->trigger();
    QTRY_VERIFY(shown.session.probe()->opened());
    auto* model = shown.child<Segmented>("probeModel");
    QVERIFY2(!model->isEnabled(), "nothing is folded");
    shown.fold();
    QVERIFY(model->isEnabled());
    const auto* table = shown.child<QTableView>("probeTable")->model();
    const int columns = table->columnCount();
    model->setCurrent(2);
    Q_EMIT model->chosen(2);
    QTRY_VERIFY(shown.session.probe()->folded());
    for (const protocol::ProbeRow& row : shown.session.probe()->folded()->rows) QCOMPARE(row.input.angle_deg, 90.0);
    QCOMPARE(table->columnCount(), columns + 2);
    QVERIFY(shown.child<QLabel>("probeSays")->text().contains(QStringLiteral("exactly 90°")));
    model->setCurrent(1);
    Q_EMIT model->chosen(1);
    QTRY_VERIFY(!shown.session.probe()->running());
    QCOMPARE(table->index(0, 1).data().toString(), QStringLiteral("RMSNorm"));
    QVERIFY2(!shown.child<QAbstractButton>("probeMeasure")->isVisible(), "there is nothing to swap");
    shown.session.choices()->setPolicy(Policy::Free);
    QTRY_VERIFY(!shown.session.foldResult());
    QVERIFY(!shown.session.probe()->folded());
    QCOMPARE(model->current(), 0);
  }

  void swapsAreMeasuredOnDemand() {
    Shown shown(test::modelFile(folder_, QStringLiteral("gpt2.pt")));
    shown.window.actions()->probe->trigger();
    QTRY_VERIFY(shown.session.probe()->opened());
    const auto* table = shown.child<QTableView>("probeTable")->model();
    const int last = table->columnCount() - 1;
    QCOMPARE(table->index(0, last).data().toString(), QStringLiteral("–"));
    shown.child<QAbstractButton>("probeMeasure")->click();
    QVERIFY(shown.session.swaps()->running());
    QTRY_VERIFY(shown.session.swaps()->figures());
    QCOMPARE(table->index(0, last).data().toString(), QStringLiteral("yes"));
    QCOMPARE(table->index(table->rowCount() - 1, last).data().toString(), QStringLiteral("slight"));
    QVERIFY(!shown.child<QAbstractButton>("probeMeasure")->isVisible());
    QVERIFY(shown.child<QLabel>("probeSays")->text().contains(QStringLiteral("could be replaced")));
  }

  void escStopsMeasuring() {
    Shown shown(test::modelFile(folder_, QStringLiteral("gpt2.pt")),
                {QStringLiteral("--slow"), QStringLiteral("probe_swaps=60000")});
    shown.window.actions()->probe->trigger();
    QTRY_VERIFY(shown.session.probe()->opened());
    shown.child<QAbstractButton>("probeMeasure")->click();
    QCOMPARE(shown.session.running().kind, JobKind::Probing);
    shown.session.cancel();
    QTRY_VERIFY(!shown.session.swaps()->running());
    QVERIFY(!shown.session.swaps()->figures());
    QVERIFY(shown.session.probe()->problem().isEmpty());
    QVERIFY(shown.child<QAbstractButton>("probeMeasure")->isEnabled());
  }

  void theChartsAreSavedAsAPicture() {
    Shown shown(test::modelFile(folder_, QStringLiteral("gpt2.pt")));
    shown.window.actions()->probe->trigger();
    QTRY_VERIFY(shown.session.probe()->opened());
    auto* charts = shown.window.findChild<ProbeCharts*>();
    QImage image(charts->size(), QImage::Format_RGB32);
    image.fill(Qt::magenta);
    QPainter painter(&image);
    charts->paintPicture(painter);
    painter.end();
    int painted = 0;
    for (const DepthChart* chart : charts->findChildren<DepthChart*>()) {
      const QPoint inside = chart->geometry().center();
      painted += image.pixelColor(inside) != QColor(Qt::magenta) ? 1 : 0;
    }
    QCOMPARE(painted, 4);
  }

 private:
  QTemporaryDir folder_;
};

}  // namespace normlens::ui

int main(int argc, char** argv) { return normlens::test::runShellTest<normlens::ui::ProbeTest>(argc, argv); }
#include "test_probe.moc"
