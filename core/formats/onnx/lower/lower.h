// ModelProto -> graph::Graph, with the way back from each graph node and operand to the protobuf.
//
// Local functions are inlined for the analysis: a node inside one is known by the calls that lead to it. Identity
// nodes between an initializer and its reader are kept as nodes. A fused operator becomes several graph nodes, which
// share its path. Ids depend on the skeleton only; shapes of a probe, value_info and shape inference add shapes and
// dtypes. Private to formats/onnx.
#pragma once

#include <string>
#include <vector>

#include "core/formats/onnx/source/onnx_source.h"
#include "core/formats/onnx/types/known_types.h"
#include "core/graph/graph.h"

namespace normlens::formats::onnx {

// Steps from the main graph to a node: index of a node in its graph (or function body), then, where that node has
// bodies or is a call, the attribute that holds the body (empty for a call), and so on; the last step is the node
// itself.
struct NodeStep {
  int node = 0;
  std::string body;  // attribute name ("then_branch", "body"); empty for a function call or the last step
  bool operator==(const NodeStep&) const = default;
};
using NodePath = std::vector<NodeStep>;

// Input `input` of the node at `path`; input -1: the operand has no single place. An output of a body or of the model:
// path of the owning node (empty for the model) and the index of the return.
struct OperandSite {
  int input = -1;
};

struct Lowered {
  graph::Graph graph;
  std::vector<NodePath> nodePath;  // by graph node
  // By graph node: which part of a fused operator it is; empty: the whole of it, or its last part. All parts of one
  // node are neighbors, in execution order; the last has the node's outputs, a LayerNorm is always last.
  //   SkipLayerNormalization, SkipSimplified...: "skip" (Add of inputs 0 and 1; is output 3 where there is no bias),
  //                           "bias" (Add of input 4; is output 3), then the norm
  //   EmbedLayerNormalization: "words", "positions", "segments" (Gathers; the last two Slices where no ids are given),
  //                           "mask" (its output 1), "add positions", "add segments" (Adds; the last is output 2), the
  //                           norm
  //   BiasGelu, FastGelu, BiasAdd ...: "bias" (Add)
  //   Gemm, FusedMatMul:      "transposed A", "transposed B" (Permutes)
  //   Slice over several axes: "axis 0", "axis 1" ... (Slices), the last axis is the node itself
  //   GatherND:               "index" (Reshape)
  //   Dropout:                "mask" (its output 1; a ShapeQuery)
  //   Sum, Loop's scan outputs: "add 0" ...; "scan"
  std::vector<std::string> part;
  std::vector<std::vector<OperandSite>> operandSites;  // by graph node and operand; -1: a value inside a fused operator
  std::vector<std::string> valuePath;     // by graph value: its name in the file; in a body or function with
                                          // the steps before it ("5/then_branch/y"; of a call "5//y"); empty for
                                          // literals and values inside a fused operator
  std::vector<std::string> constantName;  // by graph constant: initializer name, or the output of a Constant
                                          // node, with the steps before it where it is in a body
};

// Holds the parts of an opened model that edits need; the model outlives this.
struct OpenedModel {
  const OnnxSource& source;
  const Lowered& lowered;
};

// shapes may be null. Every operator's attributes and shapes are read with care: what does not fit together becomes an
// opaque node.
[[nodiscard]] Lowered lowerModel(const OnnxSource& source, const ProbeShapes* shapes,
                                 Inference inference = Inference::WhereMissing);

}  // namespace normlens::formats::onnx
