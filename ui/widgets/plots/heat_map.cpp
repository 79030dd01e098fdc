#include "ui/widgets/plots/heat_map.h"

#include <QHelpEvent>
#include <QMouseEvent>
#include <QPainter>
#include <QToolTip>
#include <algorithm>
#include <cmath>

#include "ui/theme/theme.h"
#include "ui/words/format.h"

namespace normlens::ui {

namespace {

QColor mixed(const QColor& a, const QColor& b, double share) {
  const auto mix = [&](int x, int y) { return static_cast<int>(std::lround(x + (y - x) * share)); };
  return {mix(a.red(), b.red()), mix(a.green(), b.green()), mix(a.blue(), b.blue())};
}

}  // namespace

HeatMap::HeatMap(QWidget* parent) : QWidget(parent) {
  setObjectName(QStringLiteral("heatMap"));
  setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
  setAccessibleName(tr("Heat map of the tensor"));
}

void HeatMap::setCells(const std::vector<double>& cells, int rows, int columns, double reach) {
  const bool fits = cells.size() == static_cast<size_t>(rows) * static_cast<size_t>(columns);
  cells_ = fits ? cells : std::vector<double>();
  rows_ = fits ? rows : 0;
  columns_ = fits ? columns : 0;
  reach_ = reach;
  setAccessibleDescription(tr("%1 by %2 cells").arg(rows_).arg(columns_));
  colour();
  updateGeometry();
  update();
}

void HeatMap::colour() {
  const Theme theme = themeOf(this);
  image_ = cells_.empty() ? QImage() : QImage(columns_, rows_, QImage::Format_RGB32);
  for (size_t i = 0; i < cells_.size(); ++i) {
    const double share = reach_ > 0 ? std::clamp(cells_[i] / reach_, -1.0, 1.0) : 0;
    const QColor color = mixed(theme.panel, share < 0 ? theme.streamLine : theme.opaqueLine, std::abs(share));
    image_.setPixelColor(static_cast<int>(i) % columns_, static_cast<int>(i) / columns_, color);
  }
}

void HeatMap::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  if (!image_.isNull()) painter.drawImage(QRectF(rect()), image_);
  painter.setPen(themeOf(this).control);
  painter.drawRect(rect().adjusted(0, 0, -1, -1));
}

void HeatMap::changeEvent(QEvent* event) {
  if (event->type() == QEvent::PaletteChange) colour();
  QWidget::changeEvent(event);
}

QPoint HeatMap::cellAt(const QPoint& position) const {
  return {std::clamp(position.x() * columns_ / qMax(1, width()), 0, columns_ - 1),
          std::clamp(position.y() * rows_ / qMax(1, height()), 0, rows_ - 1)};
}

void HeatMap::mousePressEvent(QMouseEvent* event) {
  if (cells_.empty() || event->button() != Qt::LeftButton) return;
  const QPoint cell = cellAt(event->position().toPoint());
  Q_EMIT cellClicked(cell.y(), cell.x());
}

bool HeatMap::event(QEvent* event) {
  if (event->type() != QEvent::ToolTip || cells_.empty()) return QWidget::event(event);
  const auto* help = static_cast<QHelpEvent*>(event);
  const QPoint cell = cellAt(help->pos());
  const double number = cells_[static_cast<size_t>(int64_t{cell.y()} * columns_ + cell.x())];
  QToolTip::showText(help->globalPos(), meaning_.arg(formatNumber(number, 3)), this);
  return true;
}

}  // namespace normlens::ui
