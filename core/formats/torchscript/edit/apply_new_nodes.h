// Code that a fold adds to a body: run-time centerings and the norms that replace LayerNorms. Private to
// formats/torchscript: includes torch.
//
// Sizes of the probe run are never written into the code: kept axes are -1 or left alone, so that the result works for
// the batch and sequence sizes that the original works for.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/formats/edit/read_code.h"
#include "core/formats/model.h"
#include "core/formats/torchscript/edit/apply_graph_copy.h"

namespace normlens::formats::torchscript {

// What the code makes of x.
[[nodiscard]] torch::jit::Value* emitted(const ReadCode& code, torch::jit::Graph& graph, torch::jit::Value* x);

// Once, before the first of the reads, for all of them.
[[nodiscard]] BodyEdit insertCode(std::vector<OperandSite> sites, const ReadCode& code);

// The code's value of what is read at `original`, once, before the first of the readers (and of what they are in).
struct CodedValue {
  std::string signature;
  std::function<torch::jit::Value*(GraphCopy&)> make;
};
[[nodiscard]] CodedValue codedBefore(std::vector<torch::jit::Node*> readers, const OperandSite& original,
                                     const ReadCode& code);
// The read sees another value; what the reader changes in place changes all the same.
void readInstead(GraphCopy& copy, const OperandSite& site, torch::jit::Value* value);

// The last point from which all of these nodes can be served.
[[nodiscard]] torch::jit::Node* pointBefore(const std::vector<torch::jit::Node*>& readers);
// x times a linear's one row, [1, inputs]; the mean of x over its last axis, which stays.
torch::jit::Value* emittedRow(torch::jit::Graph& graph, torch::jit::Value* x, torch::jit::Value* row);
// One number a row, with the leading sizes of what has as many rows.
torch::jit::Value* emittedWithRowsOf(torch::jit::Graph& graph, torch::jit::Value* numbers, torch::jit::Value* rows);
torch::jit::Value* emittedMean(torch::jit::Graph& graph, torch::jit::Value* x);

// 0 in the place of what is read there: of the same type and shape, or a number of the same kind.
[[nodiscard]] BodyEdit readZeros(OperandSite site);

struct NormReplacement {
  torch::jit::Node* node = nullptr;  // isLayerNormOp
  NormFlavour flavour = NormFlavour::Portable;
  int axes = 1;        // how many trailing axes are normalized
  int64_t groups = 1;  // of axis 1, which is cut into them first
  // The sizes of those axes, and the shape of a gamma and beta by axis 1; empty: as the node itself has them.
  std::vector<int64_t> sizes{}, affine{};
  bool gamma = false;             // given, whatever the static type is
  bool beta = false;              // given, and still to be added
  bool computeInFloat32 = false;  // the input is of a half type: the norm's own accumulation type
  bool castBack = false;          // gamma or beta has another type than the input
  int64_t narrow = 0;             // width of a narrow stream, fold::ReplaceNorm: neither gamma nor beta is read
};

// aten::layer_norm, group_norm, their native forms and instance_norm; normlens::layer_norm and add_layer_norm.
[[nodiscard]] bool isLayerNormOp(const torch::jit::Node& node);

// Throws EditRefused where the flavour cannot express the norm.
[[nodiscard]] BodyEdit replaceNorm(const NormReplacement& norm);

// normlens::add_layer_norm becomes an add and a norm, which from then on is what the node stands for: its input 0 is
// the sum. For edits of the sum that only the norm is to see; whatever else reads by the op's own inputs goes before.
[[nodiscard]] BodyEdit writeOutAddNorm(torch::jit::Node* fused);

// Writes the narrow size into the list of a view or broadcast whose result is narrow, unless it is -1 there. The list
// is the node's own from then on.
[[nodiscard]] BodyEdit resizeAxis(torch::jit::Node* node, int axis, const fold::Channels& channels);
// A query for a size of a narrow value still returns d: what reads it is not narrow, or resized. rank: of the value.
[[nodiscard]] BodyEdit tellSize(torch::jit::Node* query, int axis, int rank, const fold::Channels& channels);

// A variance taken of a zero-mean value becomes its mean square (decomposed norms; aten::var over given axes).
[[nodiscard]] BodyEdit varianceToMeanSquare(torch::jit::Node* variance);

// aten::addcmul and addcdiv, also in place: the graph has them as a product (or quotient) and a sum. Each edit leaves
// the ops that are still wanted; from then on those are what the node stands for. Whatever goes by the op's own inputs
// comes before.
[[nodiscard]] bool addsProduct(const torch::jit::Node& node);
// The product is a node of its own; input 1 of the sum reads it.
[[nodiscard]] BodyEdit writeOutProduct(torch::jit::Node* node);
// self + value * input
[[nodiscard]] BodyEdit addWithoutFactor(torch::jit::Node* node, int input);
// The product alone: `value` is 1, and self is no longer added.
[[nodiscard]] BodyEdit productAlone(torch::jit::Node* node);

}  // namespace normlens::formats::torchscript
