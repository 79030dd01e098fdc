#include "ui/charts/chart_view.h"

#include <QAreaSeries>
#include <QBarCategoryAxis>
#include <QBarLegendMarker>
#include <QBarSet>
#include <QHorizontalStackedBarSeries>
#include <QLabel>
#include <QLegend>
#include <QLegendMarker>
#include <QLineSeries>
#include <QScrollArea>
#include <QScrollBar>
#include <QValueAxis>
#include <QWheelEvent>
#include <QXYSeries>
#include <algorithm>
#include <cmath>

#include "ui/charts/chart_style.h"
#include "ui/widgets/frames.h"
#include "ui/widgets/plots/picture_file.h"
#include "ui/words/format.h"

namespace normlens::ui {

namespace {

constexpr double kWheelStep = 1.2;
constexpr int kHoverOffset = 14;
constexpr int kLowChart = 240;  // pixels
constexpr double kHiddenOpacity = 0.35;

// Returns the words for x: the category there, or the axis title and the number.
QString placeOf(const QChart& chart, QXYSeries* series, double x) {
  for (const QAbstractAxis* axis : chart.axes(Qt::Horizontal, series)) {
    if (const auto* categories = qobject_cast<const QBarCategoryAxis*>(axis)) {
      return categories->at(std::clamp(static_cast<int>(std::lround(x)), 0, categories->count() - 1));
    }
    return axis->titleText() + u' ' + formatNumber(x, 4);
  }
  return {};
}

// The point of the series that is nearest along x.
QPointF nearest(const QXYSeries& series, double x) {
  const auto points = series.points();
  return *std::min_element(points.begin(), points.end(), [&](const QPointF& a, const QPointF& b) {
    return std::abs(a.x() - x) < std::abs(b.x() - x);
  });
}

// Those of areas and bars come without a filling.
void fillMarker(QLegendMarker& marker) {
  if (auto* bar = qobject_cast<QBarLegendMarker*>(&marker)) {
    marker.setBrush(bar->barset()->color());
  } else if (auto* area = qobject_cast<QAreaSeries*>(marker.series())) {
    marker.setBrush(area->pen().color());
  } else {
    return;
  }
  marker.setShape(QLegend::MarkerShapeRectangle);
  marker.setPen(Qt::NoPen);
}

}  // namespace

ChartView::ChartView(QWidget* parent) : QChartView(parent) {
  setFrameShape(QFrame::NoFrame);
  setRenderHint(QPainter::Antialiasing);
  setRubberBand(QChartView::RectangleRubberBand);
  setMinimumSize(220, 100);
  setMouseTracking(true);
  hover_ = describe(new QLabel(this), "chartHover");
  hover_->setProperty("kind", "chartHover");
  hover_->setAttribute(Qt::WA_TransparentForMouseEvents);
  hover_->hide();
}

void ChartView::showChart(std::unique_ptr<QChart> next) {
  const std::unique_ptr<QChart> before(chart());
  if (!before || before->objectName() != next->objectName()) zoom_.clear();
  hover_->hide();
  setBackgroundBrush(next->backgroundBrush());
  setChart(next.release());
  whole_.clear();
  for (const QValueAxis* axis : numberAxes()) whole_.insert(axis->orientation(), {axis->min(), axis->max()});
  for (QAbstractSeries* series : chart()->series()) watchSeries(series);
  placeLegend();
  for (QLegendMarker* marker : chart()->legend()->markers()) {
    connect(marker, &QLegendMarker::clicked, this, [this, marker] { toggleSeries(marker->label()); });
  }
  applyHidden();
  applyZoom();
}

// ---- legend

// Puts the legend beside a low chart, so that the plot keeps its height.
void ChartView::placeLegend() {
  if (chart() != nullptr) chart()->legend()->setAlignment(height() < kLowChart ? Qt::AlignRight : Qt::AlignTop);
}

void ChartView::resizeEvent(QResizeEvent* event) {
  placeLegend();
  QChartView::resizeEvent(event);
}

void ChartView::toggleSeries(const QString& name) {
  if (!hidden_.remove(name)) hidden_.insert(name);
  applyHidden();
}

void ChartView::applyHidden() {
  for (QAbstractSeries* series : chart()->series()) {
    if (auto* bars = qobject_cast<QAbstractBarSeries*>(series)) {
      for (QBarSet* set : bars->barSets()) {
        QColor color = set->color();
        color.setAlphaF(hidden_.contains(set->label()) ? 0.08 : 1);
        set->setColor(color);
      }
      continue;
    }
    QList<bool> shown;
    const auto markers = chart()->legend()->markers(series);
    for (const QLegendMarker* marker : markers) shown << marker->isVisible();
    series->setVisible(!hidden_.contains(series->name()));
    // Hiding a series hides its marker as well, with which it is shown again.
    for (int i = 0; i < markers.size(); ++i) markers[i]->setVisible(shown[i]);
  }
  for (QLegendMarker* marker : chart()->legend()->markers()) {
    fillMarker(*marker);
    QColor color = marker->labelBrush().color();
    color.setAlphaF(hidden_.contains(marker->label()) ? kHiddenOpacity : 1);
    marker->setLabelBrush(color);
  }
}

// ---- values under the pointer

void ChartView::watchSeries(QAbstractSeries* series) {
  if (auto* line = qobject_cast<QXYSeries*>(series)) {
    connect(line, &QXYSeries::hovered, this, [this, line](const QPointF& at, bool over) {
      if (!over || line->count() == 0) return showWords({});
      const QPointF point = nearest(*line, at.x());
      const QString place = tr("%1, %2").arg(line->name(), placeOf(*chart(), line, point.x()));
      showWords(line->property(kPlaceOnly).toBool() ? place : tr("%1: %2").arg(place, formatNumber(point.y(), 4)));
    });
  } else if (auto* area = qobject_cast<QAreaSeries*>(series)) {
    connect(area, &QAreaSeries::hovered, this, [this, area](const QPointF& at, bool over) {
      if (!over) return showWords({});
      const QPointF point = nearest(*area->upperSeries(), at.x());
      showWords(tr("%1, %2 ms: %3 runs").arg(area->name(), formatNumber(at.x(), 4), formatNumber(point.y(), 4)));
    });
  } else if (auto* bars = qobject_cast<QAbstractBarSeries*>(series)) {
    connect(bars, &QAbstractBarSeries::hovered, this, [this, bars](bool over, int index, QBarSet* set) {
      if (!over) return showWords({});
      double all = 0;
      for (const QBarSet* other : bars->barSets()) all += other->at(index);
      showWords(
          tr("%1: %2 ms, %3")
              .arg(set->label(), formatNumber(set->at(index), 3), formatPercent(all > 0 ? set->at(index) / all : 0)));
    });
  }
}

void ChartView::showWords(const QString& words) {
  hover_->setText(words);
  hover_->setVisible(!words.isEmpty());
  if (words.isEmpty()) return;
  hover_->adjustSize();
  const QPoint pointer = mapFromGlobal(QCursor::pos());
  const int x = std::clamp(pointer.x() + kHoverOffset, 0, std::max(0, width() - hover_->width()));
  const int above = pointer.y() - kHoverOffset - hover_->height();
  hover_->move(x, above >= 0 ? above : pointer.y() + kHoverOffset);
  hover_->raise();
}

void ChartView::leaveEvent(QEvent* event) {
  showWords({});
  QChartView::leaveEvent(event);
}

// ---- zoom

void ChartView::zoomAt(const QPoint& position, double factor) {
  if (chart() == nullptr) return;
  const QRectF plot = chart()->plotArea();
  const QPointF at = chart()->mapFromScene(mapToScene(position));
  for (QValueAxis* numbers : numberAxes()) {
    const bool across = numbers->orientation() == Qt::Horizontal;
    const double part =
        std::clamp(across ? (at.x() - plot.left()) / plot.width() : (plot.bottom() - at.y()) / plot.height(), 0.0, 1.0);
    const double span = numbers->max() - numbers->min();
    const double fixed = numbers->min() + part * span;
    const auto [low, high] = whole_.value(numbers->orientation());
    numbers->setRange(std::max(low, fixed - part * span / factor), std::min(high, fixed + (1 - part) * span / factor));
  }
  keepZoom();
}

void ChartView::keepZoom() {
  zoom_.clear();
  for (const QValueAxis* axis : numberAxes()) {
    const auto [low, high] = whole_.value(axis->orientation());
    if (axis->min() > low || axis->max() < high) zoom_.insert(axis->orientation(), {axis->min(), axis->max()});
  }
}

void ChartView::applyZoom() {
  for (QValueAxis* axis : numberAxes()) {
    const auto [low, high] = zoom_.value(axis->orientation(), whole_.value(axis->orientation()));
    axis->setRange(low, high);
  }
}

void ChartView::resetZoom() {
  zoom_.clear();
  if (chart() != nullptr) applyZoom();
}

QList<QValueAxis*> ChartView::numberAxes() const {
  QList<QValueAxis*> axes;
  for (QAbstractAxis* axis : chart()->axes()) {
    if (auto* numbers = qobject_cast<QValueAxis*>(axis)) axes << numbers;
  }
  return axes;
}

bool ChartView::isOnScrollingPage() const {
  for (const QWidget* around = parentWidget(); around != nullptr; around = around->parentWidget()) {
    const auto* area = qobject_cast<const QScrollArea*>(around);
    if (area != nullptr && area->verticalScrollBar()->maximum() > 0) return true;
  }
  return false;
}

// The wheel zooms the chart; on a page that scrolls it does so only with Ctrl.
void ChartView::wheelEvent(QWheelEvent* event) {
  if (!event->modifiers().testFlag(Qt::ControlModifier) && isOnScrollingPage()) {
    event->ignore();
    return;
  }
  const int turned = event->angleDelta().y();
  if (turned != 0) zoomAt(event->position().toPoint(), turned > 0 ? kWheelStep : 1 / kWheelStep);
  event->accept();
}

void ChartView::mouseReleaseEvent(QMouseEvent* event) {
  if (event->button() == Qt::RightButton) {  // which would zoom out without an end
    event->accept();
    return;
  }
  QChartView::mouseReleaseEvent(event);
  if (chart() != nullptr) keepZoom();
}

void ChartView::mouseDoubleClickEvent(QMouseEvent* event) {
  resetZoom();
  event->accept();
}

// ---- taking it elsewhere

bool ChartView::savePicture(const QString& path) {
  hover_->hide();
  return writePicture(path, size(), backgroundBrush().color(),
                      [this](QPainter& painter) { render(&painter, QRectF({}, QSizeF(size()))); });
}

}  // namespace normlens::ui
