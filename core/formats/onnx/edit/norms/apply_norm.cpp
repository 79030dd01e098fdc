#include "core/formats/onnx/edit/norms/apply_norm.h"

#include <numeric>

#include "core/formats/edit/norm_code.h"
#include "core/formats/onnx/tensors/tensor_data.h"

namespace normlens::formats::onnx {
namespace {

std::string baseName(const NodeProto& node) { return node.name().empty() ? node.output(0) : node.name(); }

// The nodes of a norm in order; the one at `principal` takes the old node's place and name.
void place(EditableModel& model, Body& body, NodeProto& node, const NodeProto& like, std::vector<NodeProto> nodes,
           size_t principal) {
  NodeProto made = std::move(nodes[principal]);
  made.set_name(like.name());
  if (like.has_doc_string()) made.set_doc_string(like.doc_string());
  *made.mutable_metadata_props() = like.metadata_props();
  const auto at = nodes.begin() + static_cast<std::ptrdiff_t>(principal);
  model.addBehind(body, &node, {at + 1, nodes.end()});
  nodes.erase(at, nodes.end());
  model.addBefore(body, &node, std::move(nodes));
  model.replace(body, node, std::move(made));
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

// normCode's ops.
class NodeOps {
 public:
  using Value = std::string;

  NodeOps(NodeMaker& nodes, NormStyle style, const NormToWrite& norm)
      : nodes_(nodes), style_(style), norm_(norm), sumType_(computeType(norm)) {}

  std::string rmsNorm(const std::string& x, const std::optional<std::string>& gamma) {
    const char* op = style_ == NormStyle::Standard ? "RMSNormalization" : "SimplifiedLayerNormalization";
    const auto scale = norm_.narrow > 0 ? nodes_.ones(norm_.narrow, norm_.outputType) : gamma.value();
    auto y = nodes_.add(op, {x, scale});
    setInt(nodes_.last(), "axis", -norm_.axesCount);
    setFloat(nodes_.last(), "epsilon", static_cast<float>(norm_.eps));
    if (norm_.stashType) setInt(nodes_.last(), "stash_type", *norm_.stashType);
    return y;
  }
  std::string toSumType(const std::string& given) {
    const std::string x = norm_.view.empty() ? given : nodes_.add("Reshape", {given, nodes_.ints(norm_.view)});
    return sumType_ == norm_.dtype ? x : nodes_.cast(x, sumType_);
  }
  std::string meanSquare(const std::string& x) {  // by Pow, as optimizers of ONNX files look for a norm
    const auto two = nodes_.number(2, sumType_);
    return nodes_.mean(nodes_.add("Pow", {x, two}), meanAxes(norm_, nodes_.opset()));
  }
  std::string overRoot(const std::string& x, const std::string& meanSquare) {
    const auto shifted = nodes_.add("Add", {meanSquare, nodes_.number(norm_.eps, sumType_)});
    return nodes_.add("Div", {x, nodes_.add("Sqrt", {shifted})});
  }
  std::string toGammaType(const std::string& y) {
    return sumType_ == norm_.outputType ? y : nodes_.cast(y, norm_.outputType);
  }
  std::string multiply(const std::string& a, const std::string& b) { return nodes_.add("Mul", {a, affine(b)}); }
  std::string add(const std::string& a, const std::string& b) { return nodes_.add("Add", {a, affine(b)}); }
  std::string toResultType(std::string y) {
    return norm_.view.empty() ? y : nodes_.add("Reshape", {y, nodes_.add("Shape", {norm_.input})});
  }

 private:
  std::string affine(const std::string& held) {
    return norm_.affine.empty() ? held : nodes_.add("Reshape", {held, nodes_.ints(norm_.affine)});
  }

  NodeMaker& nodes_;
  NormStyle style_;
  const NormToWrite& norm_;
  graph::DType sumType_;
};

std::optional<std::string> given(const std::string& name) { return name.empty() ? std::nullopt : std::optional(name); }

}  // namespace

bool expressible(NormStyle style, const NormToWrite& norm) {
  if (style == NormStyle::Primitives) return true;
  if (!norm.affine.empty()) return false;
  return (norm.narrow > 0 || !norm.gamma.empty()) && static_cast<double>(static_cast<float>(norm.eps)) == norm.eps;
}

void writeNorm(EditableModel& model, NormStyle style, int opset, const NormToWrite& norm) {
  if (opset < 7) throw EditRefused("norms cannot be written in opset " + std::to_string(opset));
  NodeMaker nodes(*norm.body, opset, baseName(norm.like), &norm.like);
  const bool asOneOp = style != NormStyle::Primitives;
  NodeOps ops(nodes, style, norm);
  normCode(ops, asOneOp, norm.input, given(norm.gamma), given(norm.beta));
  nodes.last().set_output(0, norm.output);
  std::vector<NodeProto> written = nodes.take();
  const size_t principal = !asOneOp ? written.size() - 1 : norm.narrow > 0 ? 1 : 0;  // behind its scale
  place(model, *norm.body, *norm.node, norm.like, std::move(written), principal);
}

void writeSkipNorm(EditableModel& model, Body& body, NodeProto& node, int opset, bool keepsBeta) {
  const std::string beta = keepsBeta ? inputOf(node, 3) : std::string(), bias = inputOf(node, 4);
  NodeMaker nodes(body, opset, baseName(node), &node);
  std::vector<std::string> inputs = {inputOf(node, 0), inputOf(node, 1), inputOf(node, 2)};
  if (!bias.empty()) inputs.push_back(bias);
  const auto y = nodes.add("SkipSimplifiedLayerNormalization", inputs, beta.empty() ? node.output(0) : "");
  NodeProto& fused = nodes.last();
  fused.set_domain(node.domain());
  for (int i = 1; i < node.output_size(); ++i) fused.add_output(node.output(i));
  *fused.mutable_attribute() = node.attribute();
  if (!beta.empty()) nodes.add("Add", {y, beta}, node.output(0));
  const NodeProto like = node;
  place(model, body, node, like, nodes.take(), 0);
}

}  // namespace normlens::formats::onnx
