#include "tests/support/graph_interpreter.h"

#include <optional>
#include <span>
#include <stdexcept>

#include "tests/support/reference_ops.h"

namespace normlens::testing {

using graph::BlockId;
using graph::Graph;
using graph::kNone;
using graph::kNoValue;
using graph::Node;
using graph::NodeId;
using graph::OpKind;
using graph::ValueId;

namespace {

class Run {
 public:
  explicit Run(const Graph& graph) : graph_(graph), values_(graph.values.size()) {}

  std::vector<Tensor> model(const std::vector<Tensor>& inputs) {
    if (inputs.size() != graph_.inputs().size()) throw std::logic_error("wrong number of inputs");
    return block(0, inputs);
  }

 private:
  const Tensor& read(ValueId id) {
    auto& slot = values_.at(static_cast<size_t>(id));
    const auto& value = graph_.value(id);
    if (!slot && value.literal) slot = Tensor({}, *value.literal);
    if (!slot && value.constant != kNone) slot = fromView(graph_.constant(value.constant).view);
    if (!slot) throw std::logic_error("%" + value.name + " is read before it is made");
    return *slot;
  }

  std::vector<Tensor> readAll(std::span<const ValueId> ids) {
    std::vector<Tensor> out;
    for (const ValueId id : ids) out.push_back(id == kNoValue ? absent() : read(id));
    return out;
  }
  static Tensor absent() {
    Tensor none;
    none.at.clear();
    return none;
  }

  std::vector<Tensor> block(BlockId id, const std::vector<Tensor>& arguments) {
    const auto& current = graph_.block(id);
    for (size_t i = 0; i < current.params.size(); ++i)
      values_[static_cast<size_t>(current.params[i])] = arguments.at(i);
    for (const NodeId nodeId : current.nodes) {
      const Node& node = graph_.node(nodeId);
      std::vector<Tensor> made = evaluate(node);
      if (made.size() < node.outputs.size()) throw std::logic_error("too few outputs of " + node.op);
      for (size_t i = 0; i < node.outputs.size(); ++i) store(node, node.outputs[i], std::move(made[i]));
    }
    return readAll(current.returns);
  }

  void store(const Node& node, ValueId id, Tensor tensor) {
    const auto& shape = graph_.value(id).shape;
    if (shape && *shape != tensor.shape) {
      throw std::logic_error(std::string(graph::opKindName(node.kind)) + " makes %" + graph_.value(id).name +
                             " in another shape");
    }
    values_[static_cast<size_t>(id)] = std::move(tensor);
  }

  std::vector<Tensor> evaluate(const Node& node) {
    if (node.kind == OpKind::If) return block(node.blocks.at(read(node.operands.at(0)).at.at(0) != 0 ? 0 : 1), {});
    if (node.kind == OpKind::Loop) return loop(node);
    return evaluateNode(graph_, node, readAll(node.operands));
  }

  std::vector<Tensor> loop(const Node& node) {
    const auto trips = static_cast<int64_t>(read(node.operands.at(0)).at.at(0));
    bool goOn = read(node.operands.at(1)).at.at(0) != 0;
    std::vector<Tensor> carried = readAll(std::span<const ValueId>(node.operands).subspan(2));
    for (int64_t i = 0; i < trips && goOn; ++i) {
      std::vector<Tensor> arguments{Tensor({}, static_cast<double>(i))};
      arguments.insert(arguments.end(), carried.begin(), carried.end());
      std::vector<Tensor> returned = block(node.blocks.at(0), arguments);
      goOn = returned.at(0).at.at(0) != 0;
      carried.assign(returned.begin() + 1, returned.end());
    }
    return carried;
  }

  const Graph& graph_;
  std::vector<std::optional<Tensor>> values_;
};

}  // namespace

std::vector<Tensor> evaluateNode(const Graph& graph, const Node& node, const std::vector<Tensor>& operands) {
  const Call call{graph, node, operands};
  switch (node.kind) {
    case OpKind::Reshape:
    case OpKind::Permute:
    case OpKind::Rearrange:
    case OpKind::Expand:
    case OpKind::Slice:
    case OpKind::Select:
    case OpKind::Split:
    case OpKind::Unbind:
    case OpKind::Concat:
    case OpKind::Stack:
    case OpKind::Roll:
    case OpKind::Pad:
    case OpKind::Gather:
    case OpKind::Scatter:
    case OpKind::MaskedCopy:
      return shapeOp(call);
    case OpKind::Linear:
    case OpKind::MatMul:
    case OpKind::AddMatMul:
    case OpKind::Einsum:
    case OpKind::Conv:
    case OpKind::Attention:
    case OpKind::Reduce:
    case OpKind::Mix:
      return linearOp(call);
    case OpKind::LayerNorm:
    case OpKind::GroupNorm:
    case OpKind::InstanceNorm:
    case OpKind::BatchNorm:
    case OpKind::RmsNorm:
    case OpKind::Softmax:
      return normOp(call);
    case OpKind::If:
    case OpKind::Loop:
      throw std::logic_error("control flow needs its blocks");
    default:
      return pointwiseOp(call);
  }
}

std::vector<Tensor> interpret(const Graph& graph, const std::vector<Tensor>& inputs) {
  return Run(graph).model(inputs);
}

}  // namespace normlens::testing
