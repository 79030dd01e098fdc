// The part of a model that computes numbers (sizes, indices, conditions), with what takes its shape from them.
//
// Its run shows whether shapes were inferred rightly where that had to follow numbers through the graph, and what could
// not be inferred for want of a number; everything else follows from the operators' own rules. Where weights are
// large it takes a fraction of a run of the whole, and no memory for them. Private to formats/onnx.
#pragma once

#include <cstdint>
#include <optional>

#include "core/formats/model.h"
#include "core/formats/onnx/run/static_shapes.h"
#include "core/formats/onnx/source/onnx_source.h"

namespace normlens::formats::onnx {

// Its weights take hundreds of megabytes.
[[nodiscard]] bool takesLongToRun(const OnnxSource& source);

enum class NumbersAsked : uint8_t {
  All,
  OfUnknownShapes,  // nothing is compared; runs only what yields the shapes that could not be inferred
};

struct NumbersModel {
  OnnxSource source;  // outputs: the values that are to be compared, and those of no known shape that can be computed
  Tensors inputs;     // zeros in place of floats that only their shape is read of
  bool complete = true;  // every value of the whole model has a shape
};
// nullopt: a number is computed from floats, or there are bodies: the whole model has to be run.
[[nodiscard]] std::optional<NumbersModel> numbersOf(const OnnxSource& source, const StaticShapes& inferred,
                                                    const Tensors& inputs, NumbersAsked asked);

}  // namespace normlens::formats::onnx
