#include "core/formats/torchscript/fusable_norms.h"

#include <torch/csrc/jit/ir/constants.h>

#include <algorithm>

#include "core/formats/torchscript/norm_inputs.h"
#include "core/graph/queries.h"

namespace normlens::formats::torchscript {
namespace {

using graph::kNoValue;
using graph::ValueId;

bool isOverOneAxis(const torch::jit::Node& norm) {
  const auto place = normInputs(norm)->shape;
  if (!place) return true;
  const auto* shape = norm.input(*place);
  if (const auto known = torch::jit::toIValue(shape)) return known->isIntList() && known->toIntList().size() == 1;
  return shape->node()->kind() == c10::prim::ListConstruct && shape->node()->inputs().size() == 1;
}

bool readsSum(const graph::Graph& graph, ValueId input) {
  const graph::NodeId producer = graph.value(input).producer;
  if (producer == graph::kNone || graph.node(producer).kind != graph::OpKind::Add) return false;
  const auto& operands = graph.node(producer).operands;
  return operands.size() == 2 && std::all_of(operands.begin(), operands.end(), [&](ValueId operand) {
           return operand != kNoValue && graph::sameTypeAndShape(graph, operand, input);
         });
}

bool hasConstantsOfItsType(const graph::Graph& graph, const graph::Node& norm) {
  const auto type = graph.value(norm.operands[0]).dtype;
  return type != graph::DType::Unknown &&
         std::all_of(norm.operands.begin() + 1, norm.operands.end(),
                     [&](ValueId operand) { return operand == kNoValue || graph.value(operand).dtype == type; });
}

}  // namespace

std::optional<FusableNorm> findFusable(const TorchScriptModel& model, graph::NodeId norm,
                                       const std::function<bool(int frame)>& untouched) {
  const auto& graph = model.graph();
  const auto& node = graph.node(norm);
  const auto index = static_cast<size_t>(model.lowered().programNode[static_cast<size_t>(norm)]);
  const ProgramNode& place = model.program().nodes[index];
  if (!isFusableNorm(*place.node) || !isOverOneAxis(*place.node)) return std::nullopt;
  if (!readsSum(graph, node.operands[0]) || !hasConstantsOfItsType(graph, node)) return std::nullopt;
  const Frame& frame = model.program().frames[static_cast<size_t>(place.frame)];
  const bool alone = frame.call != nullptr && frame.call->kind() == c10::prim::CallMethod && untouched(place.frame) &&
                     isNormAlone(*frame.graph, *place.node);
  const FusableNorm found =
      alone ? FusableNorm{frame.parent, {place.node, frame.call}} : FusableNorm{place.frame, {place.node, nullptr}};
  return canFuse(found.site) ? std::optional(found) : std::nullopt;
}

}  // namespace normlens::formats::torchscript
