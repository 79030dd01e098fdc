#include "core/formats/onnx/edit/apply_norm.h"

#include <numeric>

#include "core/formats/onnx/read/dtypes.h"

namespace normlens::formats::onnx {
namespace {

// The nodes of a norm in order; `principal` is the one that takes the old node's place and name.
struct Written {
  std::vector<NodeProto> nodes;
  size_t principal = 0;
};

std::string baseName(const NodeProto& node) { return node.name().empty() ? node.output(0) : node.name(); }

void place(EditableModel& model, Body& body, NodeProto& node, const NodeProto& like, Written written) {
  std::vector<NodeProto> before, behind;
  NodeProto principal;
  for (size_t i = 0; i < written.nodes.size(); ++i) {
    if (i == written.principal) {
      principal = std::move(written.nodes[i]);
    } else {
      (i < written.principal ? before : behind).push_back(std::move(written.nodes[i]));
    }
  }
  principal.set_name(like.name());
  if (like.has_doc_string()) principal.set_doc_string(like.doc_string());
  *principal.mutable_metadata_props() = like.metadata_props();
  model.addBefore(body, node, std::move(before));
  model.addBehind(body, node, std::move(behind));
  model.replace(body, node, std::move(principal));
}

graph::DType computeType(const NormToWrite& norm) {
  const bool half = norm.dtype == graph::DType::Float16 || norm.dtype == graph::DType::BFloat16;
  if (!half) return norm.dtype;
  const auto stash = norm.stashType ? fromOnnxType(static_cast<int32_t>(*norm.stashType)) : graph::DType::Float32;
  return stash == graph::DType::Float64 ? stash : graph::DType::Float32;  // squares of halves overflow at 256
}

std::vector<int64_t> meanAxes(const NormToWrite& norm, int opset) {
  std::vector<int64_t> axes(static_cast<size_t>(norm.axesCount));
  if (opset < 11 && norm.rank < norm.axesCount) throw EditRefused("the rank of a norm's input is not known");
  std::iota(axes.begin(), axes.end(), (opset < 11 ? norm.rank : 0) - norm.axesCount);
  return axes;
}

Written primitives(NodeMaker& nodes, const NormToWrite& norm) {
  const auto type = computeType(norm);
  const std::string x = type == norm.dtype ? norm.input : nodes.cast(norm.input, type);
  const auto mean = nodes.reduceMean(nodes.add("Mul", {x, x}), meanAxes(norm, nodes.opset()));
  const auto shifted = nodes.add("Add", {mean, nodes.number(norm.eps, type)});
  const auto root = nodes.add("Sqrt", {shifted});
  const bool casts = type != norm.outputType, scales = !norm.gamma.empty(), shifts = !norm.beta.empty();
  std::string y = nodes.add("Div", {x, root}, casts || scales || shifts ? "" : norm.output);
  if (casts) y = nodes.cast(y, norm.outputType, scales || shifts ? "" : norm.output);
  if (scales) y = nodes.add("Mul", {y, norm.gamma}, shifts ? "" : norm.output);
  if (shifts) y = nodes.add("Add", {y, norm.beta}, norm.output);
  Written written{nodes.take(), 0};
  written.principal = written.nodes.size() - 1;
  return written;
}

Written single(NodeMaker& nodes, NormStyle style, const NormToWrite& norm) {
  const bool shifts = !norm.beta.empty();
  const char* op = style == NormStyle::Standard ? "RMSNormalization" : "SimplifiedLayerNormalization";
  const auto y = nodes.add(op, {norm.input, norm.gamma}, shifts ? "" : norm.output);
  setInt(nodes.last(), "axis", -norm.axesCount);
  setFloat(nodes.last(), "epsilon", static_cast<float>(norm.eps));
  if (norm.stashType) setInt(nodes.last(), "stash_type", *norm.stashType);
  if (shifts) nodes.add("Add", {y, norm.beta}, norm.output);
  return {nodes.take(), 0};
}

}  // namespace

bool expressible(NormStyle style, const NormToWrite& norm) {
  if (style == NormStyle::Primitives) return true;
  return !norm.gamma.empty() && static_cast<double>(static_cast<float>(norm.eps)) == norm.eps;
}

void writeNorm(EditableModel& model, NormStyle style, int opset, const NormToWrite& norm) {
  if (opset < 7) throw EditRefused("norms cannot be written in opset " + std::to_string(opset));
  NodeMaker nodes(*norm.body, opset, baseName(norm.like), &norm.like);
  place(model, *norm.body, *norm.node, norm.like,
        style == NormStyle::Primitives ? primitives(nodes, norm) : single(nodes, style, norm));
}

void writeSkipNorm(EditableModel& model, Body& body, NodeProto& node, int opset, bool keepsBeta) {
  const auto input = [&](int i) { return i < node.input_size() ? node.input(i) : std::string(); };
  const std::string beta = keepsBeta ? input(3) : std::string(), bias = input(4);
  NodeMaker nodes(body, opset, baseName(node), &node);
  std::vector<std::string> inputs = {input(0), input(1), input(2)};
  if (!bias.empty()) inputs.push_back(bias);
  const auto y = nodes.add("SkipSimplifiedLayerNormalization", inputs, beta.empty() ? node.output(0) : "");
  NodeProto& fused = nodes.last();
  fused.set_domain(node.domain());
  for (int i = 1; i < node.output_size(); ++i) fused.add_output(node.output(i));
  *fused.mutable_attribute() = node.attribute();
  if (!beta.empty()) nodes.add("Add", {y, beta}, node.output(0));
  const NodeProto like = node;
  place(model, body, node, like, {nodes.take(), 0});
}

}  // namespace normlens::formats::onnx
