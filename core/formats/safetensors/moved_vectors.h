// What a plan reads and changes of a model's constants, and the vectors that move out of their own tensors: a β that
// goes into biases, a scale that goes into a weight. Private to formats/safetensors. Thread: pure.
//
// Errors: throw EditRefused where a class that is not changed would count a vector twice.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/fold/plan.h"
#include "core/graph/graph.h"

namespace normlens::formats::safetensors {

struct MovedVector {
  graph::ConstantId constant = graph::kNone;
  int norm = -1;      // whose β it is; -1: a scale
  graph::Uses moved;  // the reads of it that are gone
};

// One for each constant.
[[nodiscard]] std::vector<MovedVector> movedVectors(const fold::FoldPlan& plan, const graph::Graph& graph);
// uses: all reads of it. Refused where another one still wants it.
void checkAllMoved(const MovedVector& vector, const graph::Graph& graph, const graph::Uses& uses);

// The constants that are to be found in a checkpoint, and half a sentence why.
[[nodiscard]] std::map<graph::ConstantId, std::string> constantsOf(const fold::FoldPlan& plan,
                                                                   const std::vector<MovedVector>& moved,
                                                                   const graph::Graph& graph);

// One number everywhere, laid out like `view`.
[[nodiscard]] graph::TensorView filledLike(const graph::TensorView& view, float number);

}  // namespace normlens::formats::safetensors
