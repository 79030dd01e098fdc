#include "core/analysis/norms/group_norms.h"

#include <algorithm>
#include <functional>
#include <numeric>

#include "core/analysis/graph_names.h"
#include "core/analysis/norms/written_nodes.h"
#include "core/graph/queries.h"
#include "core/ops/axis_view.h"
#include "core/ops/index_maps.h"
#include "core/ops/size_question.h"

namespace normlens::analysis {
namespace {

int64_t elementsFrom(const Shape& shape, size_t first) {
  return std::accumulate(shape.begin() + static_cast<std::ptrdiff_t>(first), shape.end(), int64_t{1},
                         std::multiplies<>());
}

}  // namespace

int64_t channelsOfAGroup(const Graph& graph, const Node& instanceNorm) {
  const Node* view = producerOf(graph, instanceNorm.operands.at(0));
  const Shape* shape = ops::shapeOf(graph, instanceNorm.operands[0]);
  const Shape* source = view != nullptr && isView(*view) ? ops::shapeOf(graph, view->operands[0]) : nullptr;
  const bool cuts = source != nullptr && shape != nullptr && source->size() >= 2 && shape->size() >= 2 &&
                    (*source)[0] == (*shape)[0] && elementsFrom(*source, 1) == elementsFrom(*shape, 1) &&
                    (*shape)[1] > 0 && (*source)[1] % (*shape)[1] == 0;
  return cuts ? (*source)[1] / (*shape)[1] : 1;
}

std::optional<std::vector<int64_t>> axesWithoutSpace(const Graph& graph, const Node& node) {
  const bool ofGroups = node.kind == OpKind::GroupNorm;
  if (!ofGroups && (node.kind != OpKind::InstanceNorm || graph::boolAttribute(node, "updates"))) return std::nullopt;
  const Shape* shape = ops::shapeOf(graph, node.operands.at(0));
  if (shape == nullptr || shape->size() < 2) return std::nullopt;
  const int64_t channels = (*shape)[1], positions = elementsFrom(*shape, 2);
  const int64_t groups = ofGroups ? graph::intAttribute(node, "groups").value_or(0) : channels;
  const bool fits = ofGroups ? positions == 1 && groups > 0 && channels % groups == 0 && channels > groups
                             : positions > 1 && channelsOfAGroup(graph, node) == positions;
  if (!fits) return std::nullopt;
  std::vector<int64_t> axes(shape->size() - (ofGroups ? 1 : 2));
  std::iota(axes.begin(), axes.end(), ofGroups ? 1 : 2);
  return axes;
}

bool isWithoutSpaceInEveryRun(const Graph& graph, const LayerNorm& norm) {
  const Node& node = graph.node(norm.node);
  const Shape& shape = *ops::shapeOf(graph, norm.input);
  const auto areChannels = [&](ValueId held) {
    const Shape* own = held != kNoValue && graph::isHeld(graph, held) ? ops::shapeOf(graph, held) : nullptr;
    return own != nullptr && *own == Shape{shape[1]};
  };
  ops::SizeQuestion sizes(graph);
  for (size_t axis = 1; axis < shape.size(); ++axis) {
    const bool ofWeight =
        axis == 1 && (areChannels(graph::operandAt(node, 1)) || areChannels(graph::operandAt(node, 2)));
    if (!ofWeight && !ops::listsAxis(node, "ones", axis) && !sizes.isFixed(norm.input, axis)) return false;
  }
  return sizes.hasRankOfProbe(norm.input);
}

OtherVerdict verdictOf(const Graph& graph, const OtherNorm& norm) {
  const bool ofGroups = norm.kind == OtherNormKind::GroupNorm;
  if (norm.kind == OtherNormKind::BatchNorm)
    return {std::nullopt, "it takes no mean: it subtracts a number that is held"};
  if (norm.kind == OtherNormKind::NearLayerNorm)
    return {Verdict::Blocked, "it divides by something else than a LayerNorm"};
  if (!ofGroups && norm.kind != OtherNormKind::InstanceNorm) return {std::nullopt, "it takes no mean"};
  const Shape* shape = norm.input == kNoValue ? nullptr : ops::shapeOf(graph, norm.input);
  if (shape == nullptr || shape->size() < 2)
    return {Verdict::Unknown, "no run has shown over how many positions it is"};
  const Node& node = graph.node(norm.node);
  const int64_t cut = node.kind == OpKind::InstanceNorm ? channelsOfAGroup(graph, node) : 1;
  const int64_t positions = elementsFrom(*shape, 2) / cut;
  if (positions > 1) {
    return {Verdict::Blocked, std::string("it takes its mean over ") + std::to_string(positions) + " positions" +
                                  (ofGroups ? " and the channels of a group" : "") +
                                  ": a weight is the same at every position, what the mean over space is only the "
                                  "input decides"};
  }
  return {Verdict::Blocked, "it normalizes single numbers: whatever they are, its output is \xCE\xB2"};
}

ops::Pattern patternOf(const Shape& shape, const NormParts& norm) {
  if (norm.groups == 1) return ops::Pattern::overAxes(shape, norm.axes);
  const int64_t kept = shape[0] * norm.groups, summed = elementsFrom(shape, 1) / norm.groups;
  return ops::Pattern::fromFactors({{kept, 0, kept, false}, {summed, 0, summed, true}});
}

graph::TensorView byGroups(graph::TensorView view, int64_t groups) {
  if (groups == 1 || view.shape.size() < 2 || view.shape[1] % groups != 0) return view;
  const int64_t channels = view.shape[1] / groups, stride = view.strides[1];
  view.shape[1] = groups;
  view.shape.insert(view.shape.begin() + 2, channels);
  view.strides[1] = stride * channels;
  view.strides.insert(view.strides.begin() + 2, stride);
  return view;
}

std::vector<int64_t> axesByGroups(const NormParts& norm) {
  std::vector<int64_t> axes = norm.axes;
  if (norm.groups > 1) std::ranges::for_each(axes, [](int64_t& axis) { ++axis; });
  return axes;
}

}  // namespace normlens::analysis
