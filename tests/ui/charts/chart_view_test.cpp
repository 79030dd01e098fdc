// What the wheel does on a chart: it zooms, but on a page that scrolls it scrolls the page unless Ctrl is held.
#include "ui/charts/chart_view.h"

#include <QChart>
#include <QGraphicsTextItem>
#include <QLineSeries>
#include <QLogValueAxis>
#include <QScrollArea>
#include <QScrollBar>
#include <QVBoxLayout>
#include <QValueAxis>
#include <QtTest>

#include "ui/charts/chart_style.h"

namespace normlens::ui {

class ChartViewTest final : public QObject {
  Q_OBJECT

  static std::unique_ptr<QChart> line() {
    auto chart = std::make_unique<QChart>();
    auto* series = new QLineSeries;
    series->append(0, 0);
    series->append(1, 1);
    chart->addSeries(series);
    chart->createDefaultAxes();
    return chart;
  }

  static double range(const ChartView& view) {
    const auto* axis = qobject_cast<QValueAxis*>(view.chart()->axes(Qt::Vertical).front());
    return axis->max() - axis->min();
  }

  // Whether the chart took it; what it leaves goes to the page.
  static bool turnWheel(QWidget* widget, int turned, Qt::KeyboardModifiers held = Qt::NoModifier) {
    const QPoint middle = widget->rect().center();
    QWheelEvent event(middle, widget->mapToGlobal(middle), {}, {0, turned}, Qt::NoButton, held, Qt::NoScrollPhase,
                      false);
    QApplication::sendEvent(widget, &event);
    return event.isAccepted();
  }

 private Q_SLOTS:
  void zoomsByTheWheel() {
    ChartView view;
    view.resize(400, 300);
    view.showChart(line());
    view.show();
    const double whole = range(view);
    QVERIFY(turnWheel(view.viewport(), 120));
    QVERIFY(range(view) < whole);
  }

  void aLowChartHasItsNumbers() {
    auto chart = std::make_unique<QChart>();
    styleChart(*chart, lightTheme());
    const Axes axes{addNumberAxis(*chart, Qt::AlignBottom, 0, 20, QStringLiteral("round"), lightTheme()),
                    addNumberAxis(*chart, Qt::AlignLeft, 9.7, 10.4, QStringLiteral("ms"), lightTheme())};
    addLine(*chart, axes, QStringLiteral("a"), solidPen(Qt::black), {{0, 9.8}, {20, 10.2}});
    ChartView view;
    view.resize(420, 110);
    view.showChart(std::move(chart));
    view.show();
    const auto shown = [&] {
      QStringList texts;
      for (const QGraphicsItem* item : view.items()) {
        const auto* label = dynamic_cast<const QGraphicsTextItem*>(item);
        if (label != nullptr && label->isVisible()) texts << label->toPlainText();
      }
      return texts;
    };
    QTRY_VERIFY2(shown().contains(QStringLiteral("10.0")), qPrintable(shown().join(u' ')));
    QVERIFY2(!shown().contains(QStringLiteral("...")), qPrintable(shown().join(u' ')));
  }

  // The number formats of the window hold at the ticks: "1e-8", not "1e-08".
  void ticksHaveNoZeroInTheirExponent() {
    auto chart = std::make_unique<QChart>();
    styleChart(*chart, lightTheme());
    auto* powers = new QLogValueAxis(chart.get());
    powers->setBase(10);
    powers->setLabelFormat(QStringLiteral("%.6g"));
    powers->setRange(1e-9, 1e-5);
    chart->addAxis(powers, Qt::AlignLeft);
    const Axes axes{addNumberAxis(*chart, Qt::AlignBottom, 0, 4e-8, QStringLiteral("error"), lightTheme()), powers};
    addLine(*chart, axes, QStringLiteral("line"), solidPen(Qt::black), {{0, 1e-9}, {4e-8, 1e-5}});
    ChartView view;
    view.resize(600, 400);
    view.showChart(std::move(chart));
    view.show();
    QVERIFY(QTest::qWaitForWindowExposed(&view));
    QString ticks;
    for (const QGraphicsItem* item : view.scene()->items()) {
      if (const auto* words = qgraphicsitem_cast<const QGraphicsTextItem*>(item)) ticks += words->toPlainText() + u' ';
    }
    for (const char* tick : {"1e-8", "1e-6", "2e-8"}) QVERIFY2(ticks.contains(QLatin1String(tick)), qPrintable(ticks));
    QVERIFY2(!ticks.contains(QStringLiteral("e-0")), qPrintable(ticks));
  }

  void leavesTheWheelToAPageThatScrolls() {
    QScrollArea area;
    auto* page = new QWidget;
    auto* column = new QVBoxLayout(page);
    auto* view = new ChartView(page);
    view->setMinimumSize(300, 900);
    view->showChart(line());
    column->addWidget(view);
    area.setWidgetResizable(true);
    area.setWidget(page);
    area.resize(400, 300);
    area.show();
    QTRY_VERIFY(area.verticalScrollBar()->maximum() > 0);
    const double whole = range(*view);
    QVERIFY(!turnWheel(view->viewport(), 120));
    QCOMPARE(range(*view), whole);
    QVERIFY(turnWheel(view->viewport(), 120, Qt::ControlModifier));
    QVERIFY(range(*view) < whole);
  }
};

}  // namespace normlens::ui

QTEST_MAIN(normlens::ui::ChartViewTest)
#include "chart_view_test.moc"
