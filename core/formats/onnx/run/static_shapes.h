// Shapes that follow from those of the inputs by the operators' own rules, so that a run need not show each of them.
//
// A tap behind every value doubles the nodes of a session. With all sizes of the inputs, onnx shape inference yields
// the same for most values. Where it had to follow numbers through the graph (a Reshape to a computed shape) the run
// is used as well: if the two disagree anywhere, nothing that was inferred is believed. Private to formats/onnx.
#pragma once

#include <string>
#include <unordered_set>

#include "core/formats/model.h"
#include "core/formats/onnx/source/onnx_source.h"
#include "core/formats/onnx/types/known_types.h"

namespace normlens::formats::onnx {

struct StaticShapes {
  ProbeShapes shapes;                            // of values of the main graph, all sizes known
  std::unordered_set<std::string> alsoTapped;    // those of them that are to be compared with a run
  std::unordered_set<std::string> onlyForShape;  // weights whose values such a run does not need (stand_ins.h)
};

// Values in bodies and functions are never in it. seen: of values that a run has shown already.
[[nodiscard]] StaticShapes staticShapes(const OnnxSource& source, const Tensors& inputs, const ProbeShapes& seen = {});

}  // namespace normlens::formats::onnx
