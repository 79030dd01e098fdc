// LayerNorm and RMSNorm as geometry, for a vector of any width d: the part along the uniform vector 1, the projection
// onto the plane of zero-mean vectors, and the length √d. ε is left out: it is there so that a machine does not divide
// by zero. Source: paper 002 (the geometry of LayerNorm and RMSNorm), section 2. Thread: any, no shared state.
#pragma once

#include <span>
#include <vector>

namespace normlens::ui {

using Vector = std::vector<double>;

[[nodiscard]] double meanOf(std::span<const double> x);
[[nodiscard]] double lengthOf(std::span<const double> x);
[[nodiscard]] double distance(std::span<const double> a, std::span<const double> b);  // of the same width

[[nodiscard]] Vector meanPart(std::span<const double> x);     // μ1
[[nodiscard]] Vector withoutMean(std::span<const double> x);  // x − μ1
// √d · x / ‖x‖: RMSNorm without γ and β. Zero stays zero.
[[nodiscard]] Vector rmsNormOf(std::span<const double> x);
// √d · (x − μ1) / ‖x − μ1‖: LayerNorm without γ and β.
[[nodiscard]] Vector layerNormOf(std::span<const double> x);
// γ ⊙ x + β, of the same width.
[[nodiscard]] Vector scaledAndShifted(std::span<const double> x, std::span<const double> gamma,
                                      std::span<const double> beta);

// Of a vector with mean zero: all but the last number, which is minus the sum of the others. Source of these three:
// paper 003 (Pre-CRMSNorm), section 3.
[[nodiscard]] Vector compressed(std::span<const double> x);
[[nodiscard]] Vector restored(std::span<const double> compressed);
// What RMSNorm makes of the restored vector, without its last number: x / √((Σx² + (Σx)²) / d), d one more than the
// width of x. Zero stays zero.
[[nodiscard]] Vector crmsNormOf(std::span<const double> compressed);

// To the uniform vector, in degrees from 0 to 180; 90 for the zero vector, which has no part along it.
[[nodiscard]] double angleToUniform(std::span<const double> x);

}  // namespace normlens::ui
