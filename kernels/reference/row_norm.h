// The norms of kernels/norm_rows.h written as their formulas, in long double and rounded to double: what the kernels
// are tested against. Not fast, on purpose. One row each; an empty weight is 1, an empty bias 0.
#pragma once

#include <span>
#include <vector>

#include "kernels/norm_rows.h"

namespace normlens::kernels::reference {

// y * weight + bias.
std::vector<double> affine(std::vector<double> y, std::span<const double> weight, std::span<const double> bias);

std::vector<double> rmsNorm(std::span<const double> x, double eps);
std::vector<double> layerNorm(std::span<const double> x, double eps);
std::vector<double> center(std::span<const double> x);

std::vector<double> rowNorm(NormKind kind, std::span<const double> x, double eps);

}  // namespace normlens::kernels::reference
