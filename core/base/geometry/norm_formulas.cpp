#include "core/base/geometry/norm_formulas.h"

#include <cmath>
#include <numeric>

namespace normlens::geometry {

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

BatchStatistics statisticsOf(std::span<const Vector> batch) {
  const size_t width = batch.front().size();
  const auto count = static_cast<double>(batch.size());
  BatchStatistics made{Vector(width, 0), Vector(width, 0)};
  for (size_t i = 0; i < width; ++i) {
    for (const Vector& x : batch) made.mean[i] += x[i] / count;
    for (const Vector& x : batch) made.deviation[i] += (x[i] - made.mean[i]) * (x[i] - made.mean[i]) / count;
    made.deviation[i] = std::sqrt(made.deviation[i]);
  }
  return made;
}

Vector standardized(std::span<const double> x, const BatchStatistics& statistics) {
  Vector made(x.begin(), x.end());
  for (size_t i = 0; i < made.size(); ++i) made[i] = (made[i] - statistics.mean[i]) / statistics.deviation[i];
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

Vector reflected(std::span<const double> x) {
  const auto d = static_cast<double>(x.size());
  const double sum = std::accumulate(x.begin(), x.end() - 1, 0.0);
  const double shift = x.back() / std::sqrt(d) - sum / (d - std::sqrt(d));
  Vector made(x.begin(), x.end());
  for (double& each : made) each += shift;
  made.back() = (sum + x.back()) / std::sqrt(d);
  return made;
}

}  // namespace normlens::geometry
