#include "core/formats/onnx/edit/norms/fused_norms.h"

namespace normlens::formats::onnx {
namespace {

std::string outputOf(const NodeProto& node, int i) { return i < node.output_size() ? node.output(i) : std::string(); }

// input + skip (+ bias)
FusedNorm writeOutSkip(NodeMaker& nodes, const NodeProto& node) {
  if (!outputOf(node, 1).empty() || !outputOf(node, 2).empty()) {
    throw EditRefused("the mean or deviation of '" + node.name() + "' is an output");
  }
  const std::string sum = outputOf(node, 3), bias = inputOf(node, 4);
  std::string x = nodes.add("Add", {node.input(0), node.input(1)}, bias.empty() ? sum : "");
  if (!bias.empty()) x = nodes.add("Add", {x, bias}, sum);
  return {x, inputOf(node, 2), inputOf(node, 3)};
}

std::string gather(NodeMaker& nodes, const std::string& table, const std::string& ids) {
  auto rows = nodes.add("Gather", {table, ids});
  setInt(nodes.last(), "axis", 0);
  return rows;
}

// The first rows of the position table, as many as a sequence is long.
std::string firstRows(NodeMaker& nodes, const std::string& table, const std::string& ids) {
  const auto length = nodes.slice(nodes.add("Shape", {ids}), 0, 1, 2);
  if (nodes.opset() < 10) throw EditRefused("an embedding norm cannot be written out before opset 10");
  const auto from = nodes.ints({0}), along = nodes.ints({0});
  return nodes.add("Slice", {table, from, length, along});
}

// By batch entry: how many elements of the mask are 1; 0 without a mask.
void writeMaskIndex(NodeMaker& nodes, const NodeProto& node, const std::string& output) {
  const std::string mask = inputOf(node, 7);
  if (mask.empty()) {
    const auto batch = nodes.slice(nodes.add("Shape", {node.input(0)}), 0, 0, 1);
    const auto zeros = nodes.add("ConstantOfShape", {batch});
    nodes.cast(zeros, graph::DType::Int32, output);
    return;
  }
  const auto one = nodes.cast(nodes.index(1), graph::DType::Int32);
  const auto counted = nodes.cast(nodes.add("Equal", {mask, one}), graph::DType::Int32);
  if (nodes.opset() >= 13) {
    const auto axes = nodes.ints({1});
    nodes.add("ReduceSum", {counted, axes}, output);
  } else {
    nodes.add("ReduceSum", {counted}, output);
    setInts(nodes.last(), "axes", {1});
  }
  setInt(nodes.last(), "keepdims", 0);
}

// word[ids] + position[...] (+ segment[segment ids], or the first segment)
FusedNorm writeOutEmbed(NodeMaker& nodes, const NodeProto& node) {
  const std::string positions = inputOf(node, 8), segments = inputOf(node, 4), sum = outputOf(node, 2);
  const auto words = gather(nodes, node.input(2), node.input(0));
  const auto places =
      positions.empty() ? firstRows(nodes, node.input(3), node.input(0)) : gather(nodes, node.input(3), positions);
  std::string x = nodes.add("Add", {words, places}, segments.empty() ? sum : "");
  if (!segments.empty()) {
    const std::string ids = inputOf(node, 1);
    const auto kinds = gather(nodes, segments, ids.empty() ? nodes.ints({0}) : ids);
    x = nodes.add("Add", {x, kinds}, sum);
  }
  if (!outputOf(node, 1).empty()) writeMaskIndex(nodes, node, outputOf(node, 1));
  return {x, inputOf(node, 5), inputOf(node, 6)};
}

}  // namespace

bool isFusedNorm(const NodeProto& node) {
  return node.domain() == "com.microsoft" &&
         (node.op_type() == "SkipLayerNormalization" || node.op_type() == "EmbedLayerNormalization");
}

FusedNorm writeOutFused(NodeMaker& nodes, const NodeProto& node) {
  return node.op_type() == "SkipLayerNormalization" ? writeOutSkip(nodes, node) : writeOutEmbed(nodes, node);
}

}  // namespace normlens::formats::onnx
