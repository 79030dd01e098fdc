// What the wheel does on a chart: it zooms, but on a page that scrolls it scrolls the page unless Ctrl is held.
#include "ui/charts/chart_view.h"

#include <QChart>
#include <QLineSeries>
#include <QScrollArea>
#include <QScrollBar>
#include <QVBoxLayout>
#include <QValueAxis>
#include <QtTest>

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
