// RMSNorm written as its formula, in double: what the kernels are tested against. Not fast, on purpose.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace normlens::kernels::reference {

// y_i = x_i / sqrt(mean(x^2) + eps) * weight_i + bias_i for one row; an empty weight is 1, an empty bias 0.
// Source: Zhang and Sennrich 2019, equation 4, with eps inside the root as in aten::rms_norm.
std::vector<double> rmsNorm(std::span<const double> x, std::span<const double> weight, std::span<const double> bias,
                            double eps);

}  // namespace normlens::kernels::reference
