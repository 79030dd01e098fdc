#include "ui/learn/angles/angle_plot.h"

#include <QPainter>
#include <QPainterPath>
#include <algorithm>
#include <cmath>
#include <numeric>

#include "ui/learn/vector_scene.h"
#include "ui/theme/theme.h"

namespace normlens::ui {
namespace {

using protocol::AngleCounts;

constexpr double kRight = 90, kTickStep = 5;  // degrees
constexpr int kTop = 18, kFoot = 38, kSide = 16;

double total(const AngleCounts& angles) {
  return static_cast<double>(std::accumulate(angles.counts.begin(), angles.counts.end(), int64_t{0}));
}

// Returns the share of all rows for each degree of a step.
double density(const AngleCounts& angles, size_t step) {
  return static_cast<double>(angles.counts[step]) / total(angles) / angles.step;
}

// Merges steps until about the root of the number of rows is left, with 90 degrees in the middle of a step.
AngleCounts coarser(const AngleCounts& angles) {
  constexpr double kFewest = 9, kMost = 45;
  const double wanted = std::clamp(std::sqrt(total(angles)), kFewest, kMost);
  int factor = 1;
  while (static_cast<double>(angles.counts.size()) / factor > wanted) factor += 2;
  if (factor == 1) return angles;
  const auto middle = static_cast<int>(std::lround((kRight - angles.low) / angles.step - 0.5));
  const auto merged = [&](int i) { return static_cast<int>(std::floor((i - middle + factor / 2.0) / factor)); };
  const auto last = static_cast<int>(angles.counts.size()) - 1;
  AngleCounts made;
  made.step = angles.step * factor;
  made.low = angles.low + (middle + 0.5) * angles.step + (merged(0) - 0.5) * made.step;
  made.counts.resize(static_cast<size_t>(merged(last) - merged(0)) + 1);
  for (int i = 0; i <= last; ++i)
    made.counts[static_cast<size_t>(merged(i) - merged(0))] += angles.counts[static_cast<size_t>(i)];
  return made;
}

double begin(const AngleCounts& angles, size_t step) { return angles.low + static_cast<double>(step) * angles.step; }

}  // namespace

AnglePlot::AnglePlot(QWidget* parent) : QWidget(parent) {
  setObjectName(QStringLiteral("anglePlot"));
  setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Expanding);
  setAccessibleName(tr("Histogram of angles to the uniform vector"));
}

void AnglePlot::setAngles(AngleView view) {
  view_ = std::move(view);
  for (AngleCounts* angles : {&view_.input, &view_.random, &view_.output}) *angles = coarser(*angles);
  double farthest = kTickStep;
  most_ = 0;
  for (const AngleCounts* angles : {&view_.input, &view_.random, &view_.output}) {
    for (size_t i = 0; i < angles->counts.size(); ++i) {
      most_ = std::max(most_, density(*angles, i));
      if (angles->counts[i] == 0) continue;
      farthest = std::max({farthest, kRight - begin(*angles, i), begin(*angles, i) + angles->step - kRight});
    }
  }
  if (most_ == 0) most_ = 1;
  reach_ = std::min(kRight, std::ceil(farthest / kTickStep) * kTickStep);
  update();
}

void AnglePlot::setFactor(double factor) {
  factor_ = factor;
  update();
}

QRectF AnglePlot::plotArea() const {
  return QRectF(rect()).adjusted(kSide * factor_, kTop * factor_, -kSide * factor_, -grown(kFoot) * factor_);
}

QPointF AnglePlot::placeOf(double angle, double share) const {
  const QRectF plot = plotArea();
  return {plot.left() + (angle - kRight + reach_) / (2 * reach_) * plot.width(), plot.bottom() - share * plot.height()};
}

void AnglePlot::paintEvent(QPaintEvent*) {
  const Theme theme = themeOf(this);
  QPainter painter(this);
  painter.setRenderHint(QPainter::Antialiasing);
  painter.setBackground(theme.panel);
  paintAxis(painter);
  paintBars(painter);
  paintLine(painter, view_.random, QPen(theme.textSoft, 1.6 * factor_, Qt::DashLine));
  paintLine(painter, view_.output, QPen(theme.classes.centering, 1.6 * factor_));
  paintSpike(painter);
}

void AnglePlot::paintAxis(QPainter& painter) const {
  const Theme theme = themeOf(this);
  const QRectF plot = plotArea();
  painter.setPen(QPen(theme.control, 1));
  painter.drawLine(plot.bottomLeft(), plot.bottomRight());
  painter.setFont(uiFont(static_cast<int>(11 * factor_)));
  painter.setPen(theme.textSoft);
  const double line = grown(16) * factor_;
  const double every = reach_ <= 4 * kTickStep ? kTickStep : reach_ <= 8 * kTickStep ? 2 * kTickStep : 6 * kTickStep;
  for (double from = 0; from <= reach_ + 1e-9; from += every) {
    const double most = kRight + from;
    for (double angle = kRight - from; angle <= most; angle += std::max(2 * from, kTickStep)) {
      painter.drawText(QRectF(placeOf(angle, 0).x() - 30 * factor_, plot.bottom() + 2, 60 * factor_, line),
                       Qt::AlignCenter, QStringLiteral("%1°").arg(angle, 0, 'g', 4));
    }
  }
  painter.drawText(QRectF(plot.left(), plot.bottom() + 2 + line, plot.width(), line), Qt::AlignCenter,
                   tr("angle between the vector and the uniform vector"));
}

void AnglePlot::paintBars(QPainter& painter) const {
  const QColor color = themeOf(this).classes.chosen;
  for (size_t i = 0; i < view_.input.counts.size(); ++i) {
    if (view_.input.counts[i] == 0) continue;
    const QPointF top = placeOf(begin(view_.input, i), density(view_.input, i) / most_);
    const double right = placeOf(begin(view_.input, i) + view_.input.step, 0).x();
    painter.fillRect(QRectF(top, QPointF(std::max(top.x() + 1, right - 1), plotArea().bottom())), color);
  }
}

void AnglePlot::paintLine(QPainter& painter, const AngleCounts& angles, const QPen& pen) const {
  if (angles.counts.empty()) return;
  QPainterPath path(placeOf(std::max(kRight - reach_, angles.low - angles.step / 2), 0));
  for (size_t i = 0; i < angles.counts.size(); ++i)
    path.lineTo(placeOf(begin(angles, i) + angles.step / 2, density(angles, i) / most_));
  path.lineTo(placeOf(std::min(kRight + reach_, begin(angles, angles.counts.size()) + angles.step / 2), 0));
  painter.setBrush(Qt::NoBrush);
  painter.setPen(pen);
  painter.drawPath(path);
}

void AnglePlot::paintSpike(QPainter& painter) const {
  if (!view_.spike) return;
  const QColor color = themeOf(this).linearLine;
  const QPointF top = placeOf(*view_.spike, 1) - QPointF(0, 8 * factor_);
  painter.setPen(QPen(color, 3 * factor_));
  painter.drawLine(top, placeOf(*view_.spike, 0));
  paintSceneMark(painter, top, SceneMark::Shape::Diamond, color, 0.9 * factor_);
}

}  // namespace normlens::ui
