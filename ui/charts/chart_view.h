// A chart that can be looked into: the wheel (with Ctrl on a page that scrolls) or a drawn frame zooms, a double click
// shows all again, the legend hides and shows series, the pointer reads values. What was zoomed and hidden stays when
// the same chart is made anew from newer figures. Thread: GUI thread.
#pragma once

#include <QChartView>
#include <QHash>
#include <QSet>
#include <memory>

class QAbstractSeries;
class QBarSet;
class QLabel;
class QValueAxis;
class QXYSeries;

namespace normlens::ui {

class ChartView final : public QChartView {
  Q_OBJECT

 public:
  explicit ChartView(QWidget* parent = nullptr);

  // Replaces what is shown. Charts with the same object name are the same chart.
  void showChart(std::unique_ptr<QChart> next);
  void resetZoom();
  void zoomAt(const QPoint& position, double factor);  // above 1: closer
  void toggleSeries(const QString& name);              // hides, or shows again
  [[nodiscard]] bool isHidden(const QString& name) const { return hidden_.contains(name); }

  // Writes the chart as it is shown: see writePicture().
  [[nodiscard]] bool savePicture(const QString& path);

 protected:
  void wheelEvent(QWheelEvent* event) override;
  void mouseReleaseEvent(QMouseEvent* event) override;
  void mouseDoubleClickEvent(QMouseEvent* event) override;
  void leaveEvent(QEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;

 private:
  void placeLegend();
  void watchSeries(QAbstractSeries* series);
  void applyHidden();
  void applyZoom();
  [[nodiscard]] QList<QValueAxis*> numberAxes() const;
  void keepZoom();
  [[nodiscard]] bool isOnScrollingPage() const;
  void showWords(const QString& words);

  QLabel* hover_;
  QSet<QString> hidden_;                                 // names of series
  QHash<Qt::Orientation, QPair<double, double>> zoom_;   // empty: all is shown
  QHash<Qt::Orientation, QPair<double, double>> whole_;  // the ranges of the chart as it was made
};

}  // namespace normlens::ui
