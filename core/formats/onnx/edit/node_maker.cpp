#include "core/formats/onnx/edit/node_maker.h"

#include <cstring>

#include "core/formats/onnx/read/tensors/dtypes.h"

namespace normlens::formats::onnx {
namespace {

AttributeProto& newAttribute(NodeProto& node, const char* name, AttributeProto::AttributeType type) {
  auto* attribute = node.add_attribute();
  attribute->set_name(name);
  attribute->set_type(type);
  return *attribute;
}

template <class T>
void setRaw(TensorProto& tensor, std::span<const T> values) {
  tensor.set_raw_data(values.data(), values.size_bytes());
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

const AttributeProto* findAttribute(const NodeProto& node, std::string_view name) {
  for (const auto& attribute : node.attribute()) {
    if (attribute.name() == name) return &attribute;
  }
  return nullptr;
}

NodeMaker::NodeMaker(Body& body, int opset, std::string base, const NodeProto* like)
    : body_(body), opset_(opset), base_(std::move(base)), like_(like) {}

std::string NodeMaker::add(std::string_view op, const std::vector<std::string>& inputs, std::string output) {
  const std::string fresh = EditableModel::freshName(body_, nameFor(base_, op));
  NodeProto node;
  for (const auto& input : inputs) node.add_input(input);
  node.add_output(output.empty() ? fresh : output);
  node.set_name(fresh);
  node.set_op_type(std::string(op));
  if (like_ != nullptr) *node.mutable_metadata_props() = like_->metadata_props();
  nodes_.push_back(std::move(node));
  return nodes_.back().output(0);
}

std::string NodeMaker::constant(TensorProto tensor, const char* what) {
  const std::string name = EditableModel::freshName(body_, nameFor(base_, what));
  NodeProto node;
  node.add_output(name);
  node.set_name(name);
  node.set_op_type("Constant");
  *newAttribute(node, "value", AttributeProto::TENSOR).mutable_t() = std::move(tensor);
  if (like_ != nullptr) *node.mutable_metadata_props() = like_->metadata_props();
  nodes_.push_back(std::move(node));
  return name;
}

std::string NodeMaker::ints(const std::vector<int64_t>& values) {
  TensorProto tensor;
  tensor.add_dims(static_cast<int64_t>(values.size()));
  tensor.set_data_type(TensorProto::INT64);
  setRaw(tensor, std::span<const int64_t>(values));
  return constant(std::move(tensor), "ints");
}

std::string NodeMaker::index(int64_t value) {
  TensorProto tensor;
  tensor.set_data_type(TensorProto::INT64);
  setRaw(tensor, std::span<const int64_t>(&value, 1));
  return constant(std::move(tensor), "index");
}

std::string NodeMaker::number(double value, graph::DType dtype) {
  TensorProto tensor;
  tensor.set_data_type(toOnnxType(dtype));
  const auto single = static_cast<float>(value);
  const uint16_t half = dtype == graph::DType::BFloat16 ? graph::floatToBfloat16(single) : graph::floatToHalf(single);
  switch (dtype) {
    case graph::DType::Float64:
      setRaw(tensor, std::span<const double>(&value, 1));
      break;
    case graph::DType::Float32:
      setRaw(tensor, std::span<const float>(&single, 1));
      break;
    default:
      setRaw(tensor, std::span<const uint16_t>(&half, 1));
      break;
  }
  return constant(std::move(tensor), "number");
}

std::string NodeMaker::cast(const std::string& x, graph::DType to, std::string output) {
  auto y = add("Cast", {x}, std::move(output));
  setInt(last(), "to", toOnnxType(to));
  return y;
}

std::string NodeMaker::reduceMean(const std::string& x, const std::vector<int64_t>& axes) {
  if (opset_ >= 18) {
    const auto given = ints(axes);
    auto y = add("ReduceMean", {x, given});
    setInt(last(), "keepdims", 1);
    return y;
  }
  auto y = add("ReduceMean", {x});
  setInts(last(), "axes", axes);
  setInt(last(), "keepdims", 1);
  return y;
}

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

std::string NodeMaker::unsqueeze(const std::string& x, int64_t axis) {
  if (opset_ >= 13) {
    const auto axes = ints({axis});
    return add("Unsqueeze", {x, axes});
  }
  auto y = add("Unsqueeze", {x});
  setInts(last(), "axes", {axis});
  return y;
}

}  // namespace normlens::formats::onnx
