#include "ui/widgets/plots/depth_plot.h"

#include <QHelpEvent>
#include <QMouseEvent>
#include <QPainter>
#include <QToolTip>
#include <algorithm>
#include <cmath>

#include "ui/models/difference_table.h"
#include "ui/theme/theme.h"
#include "ui/widgets/plots/precision_map.h"
#include "ui/widgets/plots/series_mark.h"

namespace normlens::ui {

namespace {

constexpr int kTop = 8, kBottom = 8, kCaption = 16;
constexpr int kCaptionFrom = 110;  // a lower chart has no room for words

}  // namespace

DepthPlot::DepthPlot(DifferenceMatrix* model, QWidget* parent) : QWidget(parent), model_(model) {
  setObjectName(QStringLiteral("depthPlot"));
  setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Expanding);
  setAccessibleName(tr("Chart of error by depth"));
  connect(model_, &QAbstractItemModel::modelReset, this, [this] {
    chosen_ = -1;
    rescale();
    update();
  });
  rescale();
}

void DepthPlot::rescale() {
  double least = 1, most = 0;
  for (int type = 0; type < model_->types(); ++type) {
    for (int place = 0; place < model_->places(); ++place) {
      const protocol::DiffRow* row = model_->at(place, type);
      if (row == nullptr || !std::isfinite(row->max_rel) || row->max_rel <= 0) continue;
      const double floor = floorOf(*row).value_or(row->max_rel);
      least = std::min({least, row->max_rel, floor > 0 ? floor : row->max_rel});
      most = std::max({most, row->max_rel, floor});
    }
  }
  high_ = most > 0 ? static_cast<int>(std::ceil(std::log10(most))) : 0;
  low_ = most > 0 ? static_cast<int>(std::floor(std::log10(least))) : -16;
  if (high_ - low_ < 2) low_ = high_ - 2;
  setAccessibleDescription(
      tr("Errors from %1 to %2 in %3 precisions").arg(least, 0, 'g', 2).arg(most, 0, 'g', 2).arg(model_->types()));
}

void DepthPlot::setChosen(int place) {
  chosen_ = place < model_->places() ? place : -1;
  update();
}

QRectF DepthPlot::plotArea() const {
  const int below = height() >= kCaptionFrom ? kBottom + kCaption : kBottom;
  return {static_cast<double>(placeLeft()), kTop, static_cast<double>(width() - placeLeft() - kPlaceRight),
          static_cast<double>(height() - kTop - below)};
}

// What is zero lies on the floor, what is infinite on the ceiling.
QPointF DepthPlot::position(int place, double error) const {
  const QRectF plot = plotArea();
  const double step = plot.width() / std::max(1, model_->places());
  double share = 1;
  if (error <= 0) share = 0;
  if (error > 0 && std::isfinite(error)) share = std::clamp((std::log10(error) - low_) / (high_ - low_), 0.0, 1.0);
  return {plot.left() + (place + 0.5) * step, plot.bottom() - share * plot.height()};
}

void DepthPlot::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  painter.setRenderHint(QPainter::Antialiasing);
  paintAxes(painter);
  for (int type = 0; type < model_->types(); ++type) paintLine(painter, type);
}

void DepthPlot::paintAxes(QPainter& painter) const {
  const Theme theme = themeOf(this);
  const QRectF plot = plotArea();
  painter.setFont(uiFont(11));
  const int lines = std::max(1, static_cast<int>(plot.height() / grown(22)));
  const int every = std::max(1, (high_ - low_ + lines - 1) / lines);
  for (int power = high_; power >= low_; power -= every) {
    const double y = position(0, std::pow(10.0, power)).y();
    painter.setPen(QPen(theme.hairline, 1));
    painter.drawLine(QPointF(plot.left(), y), QPointF(plot.right(), y));
    painter.setPen(theme.textFaint);
    painter.drawText(QRectF(0, y - 8, placeLeft() - 8, 16), Qt::AlignRight | Qt::AlignVCenter,
                     power == 0 ? QStringLiteral("1") : QStringLiteral("1e%1").arg(power));
  }
  if (height() >= kCaptionFrom) {
    painter.setPen(theme.textFaint);
    painter.drawText(QRectF(plot.left(), height() - kCaption - 2, plot.width(), kCaption),
                     Qt::AlignRight | Qt::AlignVCenter, tr("LayerNorms and outputs, in order of execution"));
  }
  if (chosen_ < 0) return;
  const double x = position(chosen_, 1).x();
  painter.setPen(QPen(theme.classes.chosen, 1.5, Qt::DashLine));
  painter.drawLine(QPointF(x, plot.top()), QPointF(x, plot.bottom()));
}

QPainterPath DepthPlot::pathOf(const std::function<double(int place)>& errorOf) const {
  QPainterPath path;
  bool drawing = false;
  for (int place = 0; place < model_->places(); ++place) {
    const double error = errorOf(place);
    if (error >= 0) drawing ? path.lineTo(position(place, error)) : path.moveTo(position(place, error));
    drawing = error >= 0;
  }
  return path;
}

void DepthPlot::paintLine(QPainter& painter, int type) const {
  const Theme theme = themeOf(this);
  painter.setBrush(Qt::NoBrush);
  // What lies below is explained by rounding.
  painter.setPen(QPen(seriesColor(type, theme), 1.2, Qt::DotLine));
  painter.drawPath(pathOf([&](int place) {
    const protocol::DiffRow* row = model_->at(place, type);
    return row != nullptr ? floorOf(*row).value_or(-1) : -1;
  }));
  painter.setPen(QPen(seriesColor(type, theme), 1.5));
  painter.drawPath(pathOf([&](int place) {
    const protocol::DiffRow* row = model_->at(place, type);
    return row != nullptr ? row->max_rel : -1;
  }));
  const bool crowded = plotArea().width() / std::max(1, model_->places()) < 7;
  if (crowded) return;
  for (int place = 0; place < model_->places(); ++place) {
    if (const protocol::DiffRow* row = model_->at(place, type)) {
      paintSeriesMark(painter, position(place, row->max_rel), type, theme);
    }
  }
}

DepthPlot::Mark DepthPlot::markAt(const QPointF& at) const {
  constexpr double kReach = 12;
  const QRectF plot = plotArea();
  const double step = plot.width() / std::max(1, model_->places());
  const int place = static_cast<int>((at.x() - plot.left()) / step);
  if (at.x() < plot.left() || place >= model_->places()) return {};
  Mark nearest;
  double best = kReach;
  for (int type = 0; type < model_->types(); ++type) {
    const protocol::DiffRow* row = model_->at(place, type);
    if (row == nullptr) continue;
    const double away = std::abs(position(place, row->max_rel).y() - at.y());
    if (away >= best) continue;
    best = away;
    nearest = {place, type};
  }
  return nearest;
}

void DepthPlot::mousePressEvent(QMouseEvent* event) {
  const Mark mark = markAt(event->position());
  if (event->button() == Qt::LeftButton && mark.place >= 0) Q_EMIT chosen(mark.place, mark.type);
}

bool DepthPlot::event(QEvent* event) {
  if (event->type() != QEvent::ToolTip) return QWidget::event(event);
  const auto* help = static_cast<QHelpEvent*>(event);
  const Mark mark = markAt(help->pos());
  QToolTip::showText(help->globalPos(),
                     mark.place >= 0
                         ? model_->tip(mark.place, mark.type)
                         : tr("How the error grows from the first LayerNorm to the outputs; dotted: six times what "
                              "the original loses by that precision alone. What lies below is its rounding."),
                     this);
  return true;
}

}  // namespace normlens::ui
