#include "core/analysis/claims/gains.h"

#include <optional>
#include <utility>

#include "core/analysis/graph_names.h"
#include "core/graph/queries.h"
#include "core/ops/index_maps.h"

namespace normlens::analysis {
namespace {

using Found = tl::expected<MovableGain, Obstacle>;

tl::unexpected<Obstacle> obstacle(Obstacle::Kind kind, NodeId node = kNone) {
  return tl::unexpected(Obstacle{kind, node});
}

// Holds the read of a gamma, and the value with gamma in it.
struct Gain {
  Use read;
  ValueId output = kNoValue;
};

// 0: the norm is not over the last axis alone.
int64_t channelsOf(const Graph& graph, const NormParts& norm) {
  const Shape* shape = ops::shapeOf(graph, norm.input);
  const bool last =
      shape != nullptr && norm.groups == 1 && norm.axes.size() == 1 && areLastAxes(norm.axes, shape->size());
  return last ? shape->back() : 0;
}

// The node's read of a vector by which it multiplies its other operand, which has the result's type and shape.
std::optional<Use> vectorFactor(const Graph& graph, NodeId id, int64_t channels) {
  const Node& node = graph.node(id);
  if (node.kind != OpKind::Mul || node.operands.size() != 2) return std::nullopt;
  for (const int operand : {0, 1}) {
    const Use read{id, operand, kNone};
    const ValueId other = node.operands[static_cast<size_t>(1 - operand)];
    if (readsVector(graph, read, channels) && graph::sameTypeAndShape(graph, other, node.outputs[0])) return read;
  }
  return std::nullopt;
}

Found into(const Graph& graph, const Gain& gain, int64_t channels) {
  auto found = linearReaders(graph, gain.output, channels);
  if (!found) return tl::unexpected(found.error());
  MovableGain out{{gain.read.node, gain.read.operand, {}}, std::move(found->between)};
  for (const LinearReader& linear : found->linears) {
    if (!linear.weight.soleReader) return obstacle(Obstacle::Kind::SharedWeight, linear.node);
    out.edit.parts.push_back({linear.weight.constant, static_cast<int>(linear.weight.axis)});
  }
  return out;
}

}  // namespace

Found movableGain(const Graph& graph, const OtherNorm& rmsNorm) {
  if (rmsNorm.gamma == kNoValue) return obstacle(Obstacle::Kind::NoGamma);
  const int64_t channels = channelsOf(graph, rmsNorm);
  if (channels == 0) return obstacle(Obstacle::Kind::ComputedGamma);
  if (rmsNorm.form != NormForm::Decomposed) {
    const Use read{rmsNorm.node, 1, kNone};
    if (graph.node(rmsNorm.node).kind != OpKind::RmsNorm || !readsVector(graph, read, channels))
      return obstacle(Obstacle::Kind::ComputedGamma);
    return into(graph, {read, rmsNorm.output}, channels);
  }
  for (const NodeId member : rmsNorm.members) {
    const auto read = vectorFactor(graph, member, channels);
    if (read && valueAt(graph, *read) == rmsNorm.gamma) return into(graph, {*read, rmsNorm.output}, channels);
  }
  return obstacle(Obstacle::Kind::ComputedGamma);
}

Found movableGain(const Graph& graph, const LayerNorm& norm, const fold::AbsorbShift* shift) {
  const int64_t channels = norm.type == NormType::LayerNorm ? channelsOf(graph, norm) : 0;
  if (channels == 0 || norm.innerGamma != kNoValue || norm.innerBeta != kNoValue)
    return obstacle(Obstacle::Kind::ComputedGamma);
  if (norm.form != NormForm::Decomposed) {
    if (norm.gamma == kNoValue) return obstacle(Obstacle::Kind::NoGamma);
    const Use read{norm.node, 1, kNone};
    if (!readsVector(graph, read, channels)) return obstacle(Obstacle::Kind::ComputedGamma);
    if (norm.beta != kNoValue && shift == nullptr) return obstacle(Obstacle::Kind::BetaStays);
    return into(graph, {read, norm.output}, channels);
  }
  const NodeId scale = soleReader(graph, norm.output, OpKind::Mul);
  if (scale == kNone) return obstacle(Obstacle::Kind::NoGamma);
  const auto read = vectorFactor(graph, scale, channels);
  if (!read) return obstacle(Obstacle::Kind::ComputedGamma);
  const NodeId last = shift != nullptr ? shift->shiftNode : scale;
  return into(graph, {*read, graph.node(last).outputs[0]}, channels);
}

}  // namespace normlens::analysis
