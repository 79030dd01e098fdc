#include "kernels/reference/row_norm.h"

#include <cmath>
#include <cstddef>
#include <numeric>

namespace normlens::kernels::reference {
namespace {

using Wide = long double;  // the kernels for double are judged too

std::vector<double> rounded(const std::vector<Wide>& values) { return {values.begin(), values.end()}; }

// Subtracts the mean twice: the rounding of a mean far from zero is itself a mean.
std::vector<Wide> centered(std::span<const double> x) {
  std::vector<Wide> y(x.begin(), x.end());
  for (int time = 0; time < 2; ++time) {
    const Wide mean = std::accumulate(y.begin(), y.end(), Wide{0}) / static_cast<Wide>(y.size());
    for (Wide& v : y) v -= mean;
    if (!std::isfinite(mean)) break;
  }
  return y;
}

std::vector<double> rootScaled(std::vector<Wide> x, double eps) {
  const Wide squares = std::inner_product(x.begin(), x.end(), x.begin(), Wide{0});
  const Wide rms = std::sqrt(squares / static_cast<Wide>(x.size()) + static_cast<Wide>(eps));
  for (Wide& v : x) v /= rms;
  return rounded(x);
}

}  // namespace

std::vector<double> affine(std::vector<double> y, std::span<const double> weight, std::span<const double> bias) {
  for (std::size_t i = 0; i < y.size(); ++i) {
    y[i] = y[i] * (weight.empty() ? 1.0 : weight[i]) + (bias.empty() ? 0.0 : bias[i]);
  }
  return y;
}

std::vector<double> rmsNorm(std::span<const double> x, double eps) { return rootScaled({x.begin(), x.end()}, eps); }

std::vector<double> center(std::span<const double> x) { return rounded(centered(x)); }

std::vector<double> layerNorm(std::span<const double> x, double eps) { return rootScaled(centered(x), eps); }

std::vector<double> rowNorm(NormKind kind, std::span<const double> x, double eps) {
  switch (kind) {
    case NormKind::Rms:
      return rmsNorm(x, eps);
    case NormKind::Layer:
      return layerNorm(x, eps);
    case NormKind::Center:
      return center(x);
  }
  return {};
}

}  // namespace normlens::kernels::reference
