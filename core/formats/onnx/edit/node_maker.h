// Writes new nodes for one place in a body, in the operator version of that body. Private to formats/onnx.
//
// Each call appends one node and returns the name of its output. Names are made from `base` and are free in the body;
// helper nodes carry the metadata of the node that they stand for, so that viewers group them with it. Thread: one.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/formats/onnx/edit/editable_model.h"
#include "core/formats/onnx/source/bodies.h"

namespace normlens::formats::onnx {

class NodeMaker {
 public:
  // opset: of the standard operators. like: whose metadata the new nodes carry; may be null.
  NodeMaker(Body& body, int opset, std::string base, const NodeProto* like);

  // Any node. An empty output gets a fresh name. The node can be completed through last().
  std::string add(std::string_view op, const std::vector<std::string>& inputs, const std::string& output = {});
  [[nodiscard]] NodeProto& last() { return nodes_.back(); }

  std::string ints(const std::vector<int64_t>& values);  // a vector constant
  std::string index(int64_t value);                      // a scalar int64 constant
  std::string number(double value, graph::DType dtype);  // a scalar constant of a floating type
  std::string ones(int64_t count, graph::DType dtype);   // alike a vector
  std::string tensor(const graph::TensorView& dense);    // a constant
  std::string cast(const std::string& x, graph::DType to, const std::string& output = {});
  // axes: negative ones count from the end (opset 11 and later only).
  std::string mean(const std::string& x, const std::vector<int64_t>& axes);
  std::string sum(const std::string& x, int64_t axis);  // alike; which stays, with size 1
  std::string slice(const std::string& x, int64_t axis, int64_t begin, int64_t end);
  std::string concat(const std::vector<std::string>& parts, int64_t axis);

  [[nodiscard]] int opset() const { return opset_; }
  [[nodiscard]] std::vector<NodeProto> take() { return std::move(nodes_); }

 private:
  std::string freshName(std::string_view what);
  std::string append(NodeProto node);
  // sinceInput: the version from which on the axes are an input.
  std::string reduce(std::string_view op, const std::string& x, const std::vector<int64_t>& axes, int sinceInput);
  std::string constant(const graph::Shape& shape, std::span<const std::byte> bytes, graph::DType dtype,
                       const char* what);

  Body& body_;
  int opset_;
  std::string base_;
  const NodeProto* like_;
  std::vector<NodeProto> nodes_;
};

void setInt(NodeProto& node, const char* name, int64_t value);
void setInts(NodeProto& node, const char* name, const std::vector<int64_t>& values);
void setFloat(NodeProto& node, const char* name, float value);
[[nodiscard]] std::string inputOf(const NodeProto& node, int i);  // empty: not given
[[nodiscard]] NodeProto constantNode(const std::string& output, TensorProto tensor);

}  // namespace normlens::formats::onnx
