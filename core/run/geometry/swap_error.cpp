#include "core/run/geometry/swap_error.h"

#include "core/base/geometry/vector_geometry.h"
#include "kernels/reference/row_norm.h"

namespace normlens::run {

double swapError(std::span<const double> x, const NormConstants& constants) {
  namespace reference = kernels::reference;
  const auto& [gamma, beta, eps] = constants;
  const auto before = reference::affine(reference::layerNorm(x, eps), gamma, beta);
  const auto after = reference::affine(reference::rmsNorm(x, eps), gamma, beta);
  const double apart = geometry::distance(after, before);
  return apart == 0 ? 0 : apart / geometry::lengthOf(before);
}

}  // namespace normlens::run
