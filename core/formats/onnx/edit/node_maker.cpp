#include "core/formats/onnx/edit/node_maker.h"

#include "core/formats/onnx/tensors/tensor_data.h"
#include "core/formats/onnx/tensors/tensor_store.h"
#include "core/graph/numbers.h"

namespace normlens::formats::onnx {
namespace {

AttributeProto& newAttribute(NodeProto& node, const char* name, AttributeProto::AttributeType type) {
  auto* attribute = node.add_attribute();
  attribute->set_name(name);
  attribute->set_type(type);
  return *attribute;
}

// "/layer/LayerNorm/Div_output_0" and "ReduceMean" make "/layer/LayerNorm/Div_output_0_ReduceMean".
std::string nameFor(const std::string& base, std::string_view what) {
  return base + (base.empty() ? "" : "_") + std::string(what);
}

}  // namespace

void setInt(NodeProto& node, const char* name, int64_t value) {
  newAttribute(node, name, AttributeProto::INT).set_i(value);
}

void setInts(NodeProto& node, const char* name, const std::vector<int64_t>& values) {
  newAttribute(node, name, AttributeProto::INTS).mutable_ints()->Add(values.begin(), values.end());
}

void setFloat(NodeProto& node, const char* name, float value) {
  newAttribute(node, name, AttributeProto::FLOAT).set_f(value);
}

NodeMaker::NodeMaker(Body& body, int opset, std::string base, const NodeProto* like)
    : body_(body), opset_(opset), base_(std::move(base)), like_(like) {}

std::string inputOf(const NodeProto& node, int i) { return i < node.input_size() ? node.input(i) : std::string(); }

NodeProto constantNode(const std::string& output, TensorProto tensor) {
  NodeProto node;
  node.set_op_type("Constant");
  node.set_name(output);
  node.add_output(output);
  *newAttribute(node, "value", AttributeProto::TENSOR).mutable_t() = std::move(tensor);
  return node;
}

std::string NodeMaker::freshName(std::string_view what) {
  return EditableModel::freshName(body_, nameFor(base_, what));
}

std::string NodeMaker::append(NodeProto node) {
  if (like_ != nullptr) *node.mutable_metadata_props() = like_->metadata_props();
  nodes_.push_back(std::move(node));
  return last().output(0);
}

std::string NodeMaker::add(std::string_view op, const std::vector<std::string>& inputs, const std::string& output) {
  NodeProto node;
  node.set_name(freshName(op));
  node.set_op_type(std::string(op));
  for (const auto& input : inputs) node.add_input(input);
  node.add_output(output.empty() ? node.name() : output);
  return append(std::move(node));
}

std::string NodeMaker::constant(const graph::Shape& shape, std::span<const std::byte> bytes, graph::DType dtype,
                                const char* what) {
  TensorProto tensor = rawTensor("", dtype, shape, bytes);
  tensor.clear_name();
  return append(constantNode(freshName(what), std::move(tensor)));
}

std::string NodeMaker::ints(const std::vector<int64_t>& values) {
  return constant({static_cast<int64_t>(values.size())}, std::as_bytes(std::span(values)), graph::DType::Int64, "ints");
}

std::string NodeMaker::index(int64_t value) {
  return constant({}, std::as_bytes(std::span(&value, 1)), graph::DType::Int64, "index");
}

std::string NodeMaker::number(double value, graph::DType dtype) {
  return constant({}, bytesOf(graph::tensorFromDoubles({}, {value}, dtype)), dtype, "number");
}

std::string NodeMaker::ones(int64_t count, graph::DType dtype) {
  const std::vector<double> values(static_cast<size_t>(count), 1.0);
  return constant({count}, bytesOf(graph::tensorFromDoubles({count}, values, dtype)), dtype, "ones");
}

std::string NodeMaker::tensor(const graph::TensorView& dense) {
  return constant(dense.shape, bytesOf(dense), dense.dtype, "tensor");
}

std::string NodeMaker::cast(const std::string& x, graph::DType to, const std::string& output) {
  auto y = add("Cast", {x}, output);
  setInt(last(), "to", toOnnxType(to));
  return y;
}

std::string NodeMaker::reduce(std::string_view op, const std::string& x, const std::vector<int64_t>& axes,
                              int sinceInput) {
  if (opset_ >= sinceInput) {
    const auto given = ints(axes);
    add(op, {x, given});
  } else {
    add(op, {x});
    setInts(last(), "axes", axes);
  }
  setInt(last(), "keepdims", 1);
  return last().output(0);
}

std::string NodeMaker::mean(const std::string& x, const std::vector<int64_t>& axes) {
  return reduce("ReduceMean", x, axes, 18);
}

std::string NodeMaker::sum(const std::string& x, int64_t axis) { return reduce("ReduceSum", x, {axis}, 13); }

std::string NodeMaker::slice(const std::string& x, int64_t axis, int64_t begin, int64_t end) {
  if (opset_ >= 10) {
    const auto from = ints({begin}), to = ints({end}), along = ints({axis});
    return add("Slice", {x, from, to, along});
  }
  auto y = add("Slice", {x});
  setInts(last(), "starts", {begin});
  setInts(last(), "ends", {end});
  setInts(last(), "axes", {axis});
  return y;
}

std::string NodeMaker::concat(const std::vector<std::string>& parts, int64_t axis) {
  auto y = add("Concat", parts);
  setInt(last(), "axis", axis);
  return y;
}

}  // namespace normlens::formats::onnx
