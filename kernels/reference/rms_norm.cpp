#include "kernels/reference/rms_norm.h"

#include <cmath>

namespace normlens::kernels::reference {

std::vector<double> rmsNorm(std::span<const double> x, std::span<const double> weight, std::span<const double> bias,
                            double eps) {
  double squares = 0.0;
  for (const double v : x) squares += v * v;
  const double rms = std::sqrt(squares / static_cast<double>(x.size()) + eps);
  std::vector<double> y(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) {
    y[i] = x[i] / rms * (weight.empty() ? 1.0 : weight[i]) + (bias.empty() ? 0.0 : bias[i]);
  }
  return y;
}

}  // namespace normlens::kernels::reference
