// Weights whose values a probe run does not need: it is after shapes, and those follow from other shapes.
//
// Such a weight stands in the session as zeros of its shape, all on one stretch of memory that is never touched, so a
// probe takes no memory for the weights. Private to formats/onnx.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <unordered_set>

#include "core/formats/onnx/source/onnx_source.h"
#include "core/formats/onnx/types/known_types.h"

namespace normlens::formats::onnx {

// Returns whether what the op makes out of floats has a size that depends on their numbers.
[[nodiscard]] bool sizeFollowsNumbers(std::string_view op);
[[nodiscard]] bool isKnownFloat(const KnownTypes& types, const std::string& name);

// Worth sparing a copy, and of a type whose numbers no kernel reads before it runs.
[[nodiscard]] bool isLargeFloat(const graph::TensorView& weight);

// Names of weights; all large ones of floating type, or none at all where a size may hang on a number that was computed
// from them (the positions that NonZero finds, an index, a condition). In doubt: none.
[[nodiscard]] std::unordered_set<std::string> weightsOnlyForShape(const OnnxSource& source, const KnownTypes& types);

// Zeros for tensors up to some size. Reading them takes no memory of its own; writing to them is not allowed. Null
// where the system has no such stretch of addresses.
[[nodiscard]] std::shared_ptr<const std::byte> zeros(size_t bytes);
// A tensor of such zeros, which are enough for it.
[[nodiscard]] graph::TensorView standIn(graph::DType dtype, const graph::Shape& shape,
                                        const std::shared_ptr<const std::byte>& zeros);

}  // namespace normlens::formats::onnx
