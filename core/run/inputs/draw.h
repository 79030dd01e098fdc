// Seeded random inputs. The same seed gives the same tensors on every machine. Thread: pure functions.
#pragma once

#include <cstdint>
#include <vector>

#include "core/formats/model.h"

namespace normlens::run {

// Draws by the specs: integers and bools uniform in [low, high], floats normal(0, 1) or uniform in [low, high).
// Error: a spec that cannot be drawn (unknown type or size), BadInput.
[[nodiscard]] Result<formats::Tensors> drawInputs(const std::vector<formats::InputSpec>& specs, uint64_t seed);

// Other values of the same kind as the sample's, in these shapes (one per input; the sample's own: pass its shapes).
// Integers: uniform between the least and the greatest of the sample, so that ids stay below the vocabulary. Masks
// (bools, and integers or floats of at most two values): the sample's values in another order. Floats: normal with the
// sample's mean and deviation. A float array with values that are not finite keeps its values, repeated as needed.
[[nodiscard]] Result<formats::Tensors> drawLike(const formats::Tensors& sample, const std::vector<graph::Shape>& shapes,
                                                uint64_t seed);

// The sample with its floats multiplied; masks and arrays with values that are not finite stay as they are.
enum class Sign : uint8_t { Own, Positive };
[[nodiscard]] Result<formats::Tensors> scaledLike(const formats::Tensors& sample, double factor, Sign sign = Sign::Own);

[[nodiscard]] std::vector<graph::Shape> shapesOf(const formats::Tensors& tensors);

}  // namespace normlens::run
