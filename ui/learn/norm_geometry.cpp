#include "ui/learn/norm_geometry.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>

namespace normlens::ui {

double meanOf(std::span<const double> x) {
  return x.empty() ? 0 : std::accumulate(x.begin(), x.end(), 0.0) / static_cast<double>(x.size());
}

double lengthOf(std::span<const double> x) { return std::sqrt(std::inner_product(x.begin(), x.end(), x.begin(), 0.0)); }

double distance(std::span<const double> a, std::span<const double> b) {
  Vector difference(a.size());
  std::ranges::transform(a, b, difference.begin(), std::minus());
  return lengthOf(difference);
}

Vector meanPart(std::span<const double> x) { return Vector(x.size(), meanOf(x)); }

Vector withoutMean(std::span<const double> x) {
  Vector rest(x.begin(), x.end());
  const double mean = meanOf(x);
  for (double& each : rest) each -= mean;
  return rest;
}

Vector rmsNormOf(std::span<const double> x) {
  Vector normed(x.begin(), x.end());
  const double length = lengthOf(x);
  if (length == 0) return normed;
  for (double& each : normed) each *= std::sqrt(static_cast<double>(x.size())) / length;
  return normed;
}

Vector layerNormOf(std::span<const double> x) { return rmsNormOf(withoutMean(x)); }

Vector scaledAndShifted(std::span<const double> x, std::span<const double> gamma, std::span<const double> beta) {
  Vector made(x.begin(), x.end());
  for (size_t i = 0; i < made.size(); ++i) made[i] = gamma[i] * made[i] + beta[i];
  return made;
}

Vector compressed(std::span<const double> x) { return {x.begin(), x.end() - (x.empty() ? 0 : 1)}; }

Vector restored(std::span<const double> compressed) {
  Vector x(compressed.begin(), compressed.end());
  x.push_back(-std::accumulate(x.begin(), x.end(), 0.0));
  return x;
}

Vector crmsNormOf(std::span<const double> compressed) {
  Vector normed(compressed.begin(), compressed.end());
  const double sum = std::accumulate(normed.begin(), normed.end(), 0.0);
  const double squares = std::inner_product(normed.begin(), normed.end(), normed.begin(), 0.0) + sum * sum;
  if (squares == 0) return normed;
  for (double& each : normed) each /= std::sqrt(squares / static_cast<double>(normed.size() + 1));
  return normed;
}

double angleToUniform(std::span<const double> x) {
  const double length = lengthOf(x);
  if (length == 0) return 90;
  const double cosine = meanOf(x) * std::sqrt(static_cast<double>(x.size())) / length;
  return std::acos(std::clamp(cosine, -1.0, 1.0)) * 180 / std::numbers::pi;
}

}  // namespace normlens::ui
