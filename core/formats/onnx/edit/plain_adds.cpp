#include "core/formats/onnx/edit/plain_adds.h"

#include <algorithm>
#include <optional>

#include "core/formats/onnx/source/operators.h"
#include "core/formats/onnx/types/input_sizes.h"
#include "core/formats/onnx/types/known_types.h"
#include "core/graph/queries.h"

namespace normlens::formats::onnx {
namespace {

using graph::NodeId;
using graph::ValueId;

// Infers shapes with onnx where axes that the file leaves open and the probe had at 1 are 2: an operand that was not
// repeated for want of something to repeat it along then has another shape than the sum.
class OtherSizes {
 public:
  OtherSizes(const OnnxSource& source, const Lowered& lowered) : source_(source), lowered_(lowered) {}

  // Returns whether the value has the same shape as the sum then too.
  [[nodiscard]] bool agree(ValueId operand, ValueId sum) {
    infer();
    if (!varies_) return true;  // no input has such an axis
    const auto shape = shapeOf(sum);
    return shape && shapeOf(operand) == shape;
  }

 private:
  void infer() {
    if (inferred_) return;
    inferred_ = true;
    ProbeShapes inputs;
    for (const SizedInput& sized : sizedInputs(*source_.skeleton)) {
      const auto probed = probedShape(sized.name);
      if (!probed || (sized.ranked && probed->size() != sized.shape.size())) {
        varies_ = true;
        continue;
      }
      graph::Shape shape = *probed;
      for (size_t axis = 0; axis < shape.size(); ++axis) {
        const bool open = !sized.ranked || std::ranges::count(sized.freeAxes, static_cast<int>(axis)) != 0;
        if (!open || shape[axis] != 1) continue;
        shape[axis] = 2;
        varies_ = true;
      }
      inputs[sized.name] = {sized.dtype, std::move(shape)};
    }
    if (varies_) types_ = inferredTypes(source_, inputs);
  }

  [[nodiscard]] std::optional<graph::Shape> probedShape(const std::string& input) const {
    for (const ValueId id : lowered_.graph.inputs()) {
      if (lowered_.valuePath[static_cast<size_t>(id)] == input) return lowered_.graph.value(id).shape;
    }
    return std::nullopt;
  }

  [[nodiscard]] std::optional<graph::Shape> shapeOf(ValueId id) const {
    const auto& value = lowered_.graph.value(id);
    if (value.constant != graph::kNone) return value.shape;
    const auto found = types_.find(lowered_.valuePath[static_cast<size_t>(id)]);
    return found == types_.end() ? std::nullopt : found->second.shape();
  }

  const OnnxSource& source_;
  const Lowered& lowered_;
  bool inferred_ = false, varies_ = false;
  KnownTypes types_;
};

// Decides by the sizes of the probe alone.
std::optional<PlainAdd> plainAdd(const graph::Graph& graph, const graph::Node& add) {
  if (add.operands.size() != 2 || add.outputs.size() != 1) return std::nullopt;
  const auto& sum = graph.value(add.outputs[0]);
  if (!sum.shape || (sum.shape->size() != 2 && sum.shape->size() != 3)) return std::nullopt;
  PlainAdd plain{sum.dtype, *sum.shape, -1};
  for (int i = 0; i < 2; ++i) {
    const ValueId operand = add.operands[static_cast<size_t>(i)];
    if (operand == graph::kNoValue || graph.value(operand).dtype != sum.dtype) return std::nullopt;
    if (graph::sameTypeAndShape(graph, operand, add.outputs[0])) continue;
    const auto& value = graph.value(operand);
    const bool isBias = value.constant != graph::kNone && value.shape == graph::Shape{sum.shape->back()};
    if (!isBias || plain.bias >= 0) return std::nullopt;
    plain.bias = i;
  }
  return plain;
}

bool hidesBroadcast(const graph::Shape& shape) { return std::count(shape.begin(), shape.end() - 1, 1) != 0; }

}  // namespace

bool isOfOperatorsType(const OnnxSource& source, graph::DType dtype) {
  using enum graph::DType;
  return source.everyFloat != Unknown || dtype == Float32 || dtype == Float16 || dtype == BFloat16;
}

bool insideFunction(const NodePath& path) {
  return std::any_of(path.begin(), path.end() - 1, [](const NodeStep& step) { return step.body.empty(); });
}

PlainAdds findPlainAdds(const OnnxSource& source, const Lowered& lowered, EditableModel& model) {
  PlainAdds adds;
  OtherSizes others(source, lowered);
  const auto& graph = lowered.graph;
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    const auto& node = graph.nodes[i];
    const auto& sites = lowered.operandSites[i];
    if (node.kind != graph::OpKind::Add || insideFunction(lowered.nodePath[i])) continue;
    const auto plain = plainAdd(graph, node);
    if (!plain || !isOfOperatorsType(source, plain->dtype)) continue;
    if (std::ranges::any_of(sites, [](const OperandSite& site) { return site.input < 0; })) continue;
    const NodeProto* proto = model.at(lowered.nodePath[i], 0).node;
    if (proto->op_type() != "Add" || !isStandardDomain(proto->domain())) continue;
    const bool sure =
        plain->bias >= 0 || !hidesBroadcast(plain->shape) ||
        std::ranges::all_of(node.operands, [&](ValueId operand) { return others.agree(operand, node.outputs[0]); });
    if (sure) adds.emplace(proto, *plain);
  }
  return adds;
}

}  // namespace normlens::formats::onnx
