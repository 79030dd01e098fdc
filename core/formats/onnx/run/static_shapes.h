// Shapes that follow from those of the inputs by the operators' own rules, so that a run need not show each of them.
//
// A tap behind every value doubles the nodes of a session. With all sizes of the inputs, onnx shape inference yields
// the same for most values. Where it had to follow numbers through the graph (a Reshape to a computed shape) the run
// is used as well: if the two disagree anywhere, nothing that was inferred is believed. Private to formats/onnx.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_set>

#include "core/formats/model.h"
#include "core/formats/onnx/source/onnx_source.h"
#include "core/formats/onnx/types/known_types.h"

namespace normlens::formats::onnx {

struct StaticShapes {
  ProbeShapes shapes;                            // Shapes of the main graph's values, all sizes known.
  std::unordered_set<std::string> alsoTapped;    // those of them that are to be compared with a run
  std::unordered_set<std::string> onlyForShape;  // weights whose values such a run does not need (stand_ins.h)
};

// Values in bodies and functions are never in it. seen: of values that a run has shown already.
[[nodiscard]] StaticShapes staticShapes(const OnnxSource& source, const Tensors& inputs, const ProbeShapes& seen = {});

// Its weights take hundreds of megabytes.
[[nodiscard]] bool takesLongToRun(const OnnxSource& source);

enum class NumbersAsked : uint8_t {
  All,
  OfUnknownShapes,  // nothing is compared; runs only what yields the shapes that could not be inferred
};

// The part of a model that computes numbers (sizes, indices, conditions), with what takes its shape from them. Its run
// shows whether shapes were inferred rightly where that had to follow numbers through the graph, and what could not be
// inferred for want of a number; everything else follows from the operators' own rules. Where weights are large it
// takes a fraction of a run of the whole, and no memory for them.
struct NumbersModel {
  OnnxSource source;  // outputs: the values that are to be compared, and those of no known shape that can be computed
  Tensors inputs;     // zeros in place of floats that only their shape is read of
  bool complete = true;  // every value of the whole model has a shape
};
// nullopt: a number is computed from floats, or there are bodies: the whole model has to be run.
[[nodiscard]] std::optional<NumbersModel> numbersOf(const OnnxSource& source, const StaticShapes& inferred,
                                                    const Tensors& inputs, NumbersAsked asked);

}  // namespace normlens::formats::onnx
