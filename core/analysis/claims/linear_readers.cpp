#include "core/analysis/claims/linear_readers.h"

#include "core/analysis/claims/kept_channels.h"
#include "core/analysis/graph_names.h"
#include "core/graph/queries.h"
#include "core/ops/index_maps.h"
#include "core/ops/rules.h"

namespace normlens::analysis {
namespace {

class LinearFinder {
 public:
  LinearFinder(const Graph& graph, int64_t channels) : graph_(graph), channels_(channels) {}

  // False: `obstacle` says why.
  bool follow(ValueId first) {
    std::vector<ValueId> open{first};
    while (!open.empty()) {
      const ValueId id = open.back();
      open.pop_back();
      const auto& value = graph_.value(id);
      if (!value.opaqueReason.empty() || !graph::isFloat(value.dtype)) return meet(Kind::UnknownValue, value.producer);
      out.between.push_back(id);
      for (const Use& use : value.uses) {
        if (use.node == kNone) return meet(Kind::ModelOutput, kNone);
        const Node& node = graph_.node(use.node);
        if (use.operand == 0 && keepsChannels(graph_, node, channels_)) {
          open.insert(open.end(), node.outputs.begin(), node.outputs.end());
        } else if (node.kind != OpKind::ShapeQuery && !intoLinear(use, node)) {
          return false;
        }
      }
    }
    return !out.linears.empty() || meet(Kind::NoReader, kNone);
  }

  LinearReaders out;
  Obstacle obstacle;

 private:
  using Kind = Obstacle::Kind;

  bool meet(Kind kind, NodeId node) {
    obstacle = {kind, node};
    return false;
  }

  bool intoLinear(const Use& use, const Node& node) {
    switch (node.kind) {
      case OpKind::Linear:
        return add(use.operand == 0, {use.node, 1, kNone}, 1, given({use.node, 2, kNone}), node.outputs[0]);
      case OpKind::AddMatMul:
        return add(use.operand == 1 && ops::plainAlpha(node) && ops::plainBeta(node), {use.node, 2, kNone}, 0,
                   {use.node, 0, kNone}, node.outputs[0]);
      case OpKind::MatMul:
        return add(use.operand == 0 && ops::plainAlpha(node), {use.node, 1, kNone}, 0, biasBehind(node.outputs[0]),
                   node.outputs[0]);
      default:
        return meet(Kind::OtherReader, use.node);
    }
  }

  [[nodiscard]] Use given(const Use& use) const { return valueAt(graph_, use) == kNoValue ? Use{} : use; }

  [[nodiscard]] Use biasBehind(ValueId product) const {
    const NodeId add = soleReader(graph_, product, OpKind::Add);
    if (add == kNone || !ops::plainAlpha(graph_.node(add))) return {};
    const Node& node = graph_.node(add);
    if (!graph::sameTypeAndShape(graph_, product, node.outputs[0])) return {};
    return {add, node.operands[0] == product ? 1 : 0, kNone};
  }

  // inputAxis: of the weight operand, the one that is summed with the channels.
  bool add(bool linear, const Use& weightUse, int64_t inputAxis, const Use& bias, ValueId output) {
    const ValueId id = valueAt(graph_, weightUse);
    const Shape* shape = id == kNoValue ? nullptr : ops::shapeOf(graph_, id);
    const bool fits = shape != nullptr && shape->size() == 2 && (*shape)[static_cast<size_t>(inputAxis)] == channels_;
    if (!linear || !fits) return meet(Kind::OtherReader, weightUse.node);
    const auto weight = constantBehind(graph_, weightUse, inputAxis);
    if (!weight || graph_.constant(weight->constant).view.shape.size() != 2)
      return meet(Kind::ComputedWeight, weightUse.node);
    if (graph_.value(id).dtype != graph_.value(output).dtype) return meet(Kind::OtherType, weightUse.node);
    out.linears.push_back({weightUse.node, *weight, bias, output});
    return true;
  }

  const Graph& graph_;
  int64_t channels_;
};

}  // namespace

tl::expected<LinearReaders, Obstacle> linearReaders(const Graph& graph, ValueId first, int64_t channels) {
  LinearFinder finder(graph, channels);
  if (!finder.follow(first)) return tl::unexpected(finder.obstacle);
  return std::move(finder.out);
}

ValueId valueAt(const Graph& graph, const Use& use) {
  return graph::operandAt(graph.node(use.node), static_cast<size_t>(use.operand));
}

NodeId soleReader(const Graph& graph, ValueId value, OpKind kind) {
  const auto& uses = graph.value(value).uses;
  return uses.size() == 1 && uses[0].node != kNone && graph.node(uses[0].node).kind == kind ? uses[0].node : kNone;
}

bool isVector(const Graph& graph, ValueId value, int64_t size) {
  const Shape* shape = value == kNoValue ? nullptr : ops::shapeOf(graph, value);
  return shape != nullptr && !shape->empty() && shape->back() == size && graph::elementCount(*shape) == size;
}

bool readsVector(const Graph& graph, const Use& use, int64_t channels) {
  const auto found = constantBehind(graph, use, 0);
  return found && found->use == use && isVector(graph, valueAt(graph, use), channels);
}

}  // namespace normlens::analysis
