#include "tests/support/graph_builder.h"

#include <algorithm>
#include <cmath>

#include "tests/support/graph_text.h"

namespace normlens::testing {

using graph::Attributes;
using graph::BlockId;
using graph::DType;
using graph::Node;
using graph::NodeId;
using graph::OpKind;
using graph::Shape;
using graph::Value;
using graph::ValueId;

Value GraphBuilder::fresh(const Shape& shape, DType dtype) const {
  Value value;
  value.name = "v" + std::to_string(graph_.values.size());
  value.dtype = dtype;
  value.shape = shape;
  return value;
}

ValueId GraphBuilder::input(const Shape& shape, DType dtype) { return graph_.addParam(0, fresh(shape, dtype)); }
ValueId GraphBuilder::param(BlockId block, const Shape& shape, DType dtype) {
  return graph_.addParam(block, fresh(shape, dtype));
}

ValueId GraphBuilder::constant(const Tensor& tensor) {
  graph::Constant item;
  item.name = "c" + std::to_string(graph_.values.size());
  item.view = graph::tensorFromDoubles(tensor.shape, tensor.at, DType::Float64);
  return graph_.addConstant(std::move(item));
}

ValueId GraphBuilder::weight(const Shape& shape) {
  Tensor tensor = testing::randomTensor(shape, random_);
  const double fan = shape.size() < 2 ? 1.0 : static_cast<double>(shape.back());
  for (double& item : tensor.at) item /= std::sqrt(fan);
  return constant(tensor);
}

ValueId GraphBuilder::add(OpKind kind, const std::vector<ValueId>& operands, const Shape& shape, Attributes attributes,
                          const std::string& op, DType dtype) {
  Node node;
  node.kind = kind;
  node.op = op;
  node.block = block_;
  node.operands.assign(operands.begin(), operands.end());
  node.attributes = std::move(attributes);
  const NodeId id = graph_.addNode(std::move(node), {fresh(shape, dtype)});
  return graph_.node(id).outputs[0];
}

ValueId GraphBuilder::function(graph::Function function, const std::vector<ValueId>& operands, const Shape& shape) {
  const ValueId made = add(OpKind::Elementwise, operands, shape);
  graph_.nodes.back().function = function;
  return made;
}

std::vector<ValueId> GraphBuilder::addMany(OpKind kind, const std::vector<ValueId>& operands,
                                           const std::vector<Shape>& shapes, Attributes attributes) {
  Node node;
  node.kind = kind;
  node.block = block_;
  node.operands.assign(operands.begin(), operands.end());
  node.attributes = std::move(attributes);
  std::vector<Value> outputs;
  for (const Shape& shape : shapes) {
    outputs.push_back(fresh(shape, DType::Float64));
    outputs.back().name += "_" + std::to_string(outputs.size());
  }
  const NodeId id = graph_.addNode(std::move(node), std::move(outputs));
  const auto& made = graph_.node(id).outputs;
  return {made.begin(), made.end()};
}

BlockId GraphBuilder::enter(BlockId block) { return std::exchange(block_, block); }
BlockId GraphBuilder::addBlock(ValueId outputOfOwner) { return graph_.addBlock(graph_.value(outputOfOwner).producer); }

std::vector<Tensor> drawInputs(const graph::Graph& graph, std::mt19937& random) {
  std::vector<Tensor> out;
  for (const ValueId id : graph.inputs()) {
    const Value& value = graph.value(id);
    Tensor tensor = randomTensor(*value.shape, random);
    for (double& item : tensor.at) {
      if (value.dtype == DType::Int64) item = static_cast<double>(random() % 5);
      if (value.dtype == DType::Bool) item = static_cast<double>(random() % 2);
    }
    out.push_back(std::move(tensor));
  }
  return out;
}

double maxRelative(const std::vector<Tensor>& before, const std::vector<Tensor>& after) {
  double worst = 0;
  for (size_t o = 0; o < before.size(); ++o) {
    const double scale = std::max(maxAbs(before[o]), 1e-3);
    for (size_t i = 0; i < before[o].at.size(); ++i) {
      worst = std::max(worst, std::fabs(before[o].at[i] - after.at(o).at.at(i)) / scale);
    }
  }
  return worst;
}

}  // namespace normlens::testing
