#include "ui/widgets/plots/depth_scale.h"

#include <algorithm>
#include <cmath>

namespace normlens::ui {

double DepthScale::step() const { return plot.width() / std::max(1, places); }

double DepthScale::levelOf(double tick) const { return plot.bottom() - (tick - low) / (high - low) * plot.height(); }

QPointF DepthScale::at(int place, double value) const {
  double level = value;
  if (logarithmic) level = value > 0 ? std::log10(value) : low;
  return {plot.left() + (place + 0.5) * step(), levelOf(std::clamp(level, low, high))};
}

int DepthScale::placeAt(const QPointF& at) const {
  if (!plot.contains(at) || places == 0) return -1;
  return std::clamp(static_cast<int>((at.x() - plot.left()) / step()), 0, places - 1);
}

std::vector<double> DepthScale::ticks(int most) const {
  const double range = high - low;
  const double every = logarithmic ? std::max(1.0, std::ceil(range / most)) : range / most;
  std::vector<double> all;
  for (double tick = high; tick >= low - 1e-9; tick -= every) all.push_back(tick);
  return all;
}

QPainterPath pathThrough(const DepthScale& scale, const std::function<double(int place)>& figureOf) {
  QPainterPath path;
  bool drawing = false;
  for (int place = 0; place < scale.places; ++place) {
    const double figure = figureOf(place);
    const bool there = !std::isnan(figure);
    if (there) drawing ? path.lineTo(scale.at(place, figure)) : path.moveTo(scale.at(place, figure));
    drawing = there;
  }
  return path;
}

QString powerOfTen(double power) {
  constexpr double kLeastPlain = -1, kMostPlain = 3;
  const bool plain = power >= kLeastPlain && power <= kMostPlain;
  return plain ? QString::number(std::pow(10.0, power), 'g', 4) : QStringLiteral("1e%1").arg(power, 0, 'f', 0);
}

}  // namespace normlens::ui
