#include "core/analysis/norms/whole_norm.h"

#include <algorithm>

#include "core/analysis/graph_names.h"
#include "core/analysis/norms/norm_tail.h"
#include "core/ops/index_maps.h"

namespace normlens::analysis {
namespace {

void takeTail(const Graph& graph, WholeNorm& norm, bool withBeta) {
  const auto* shape = norm.input == kNoValue ? nullptr : ops::shapeOf(graph, norm.input);
  if (shape == nullptr || norm.axes.empty() || norm.beta != kNoValue || !areLastAxes(norm.axes, shape->size())) return;
  const std::vector<int64_t> normalized(shape->end() - static_cast<std::ptrdiff_t>(norm.axes.size()), shape->end());
  const NormTail tail = tailOf(graph, norm.output, normalized, graph.value(norm.input).dtype,
                               {.gamma = norm.gamma == kNoValue, .beta = withBeta});
  norm.members.insert(norm.members.end(), tail.nodes.begin(), tail.nodes.end());
  if (tail.gamma != kNoValue) norm.gamma = tail.gamma;
  norm.beta = tail.beta;
  norm.output = tail.output;
}

bool isMember(const WholeNorm& norm, graph::NodeId node) {
  return std::ranges::find(norm.members, node) != norm.members.end();
}

bool isJoinable(const Graph& graph, const WholeNorm& norm, bool leadingOnes) {
  const auto dtype = graph.value(norm.input).dtype;
  const auto* shape = ops::shapeOf(graph, norm.input);
  if (norm.form != NormForm::Decomposed || shape == nullptr || !graph::isFloat(dtype) ||
      !areLastAxes(norm.axes, shape->size())) {
    return false;
  }
  const graph::Shape normalized(shape->end() - static_cast<std::ptrdiff_t>(norm.axes.size()), shape->end());
  const auto fits = [&](graph::ValueId constant) {
    if (constant == kNoValue) return true;
    const auto* own = ops::shapeOf(graph, constant);
    if (own == nullptr || own->size() < normalized.size() || graph.value(constant).dtype != dtype) return false;
    const auto trailing = own->end() - static_cast<std::ptrdiff_t>(normalized.size());
    return std::equal(trailing, own->end(), normalized.begin()) &&
           (trailing == own->begin() ||
            (leadingOnes && std::all_of(own->begin(), trailing, [](int64_t size) { return size == 1; })));
  };
  return graph.value(norm.output).dtype == dtype && fits(norm.gamma) && fits(norm.beta) &&
         isClosed(graph, norm.members, norm.output, norm.members);
}

}  // namespace

WholeNorm wholeNorm(const Graph& graph, const LayerNorm& norm) {
  WholeNorm whole{static_cast<const NormParts&>(norm), true};
  if (norm.form != NormForm::Decomposed) return whole;
  whole.gamma = norm.innerGamma;
  whole.beta = norm.innerBeta;
  takeTail(graph, whole, true);
  return whole;
}

WholeNorm wholeNorm(const Graph& graph, const OtherNorm& norm, bool withBeta) {
  WholeNorm whole{static_cast<const NormParts&>(norm), false};
  takeTail(graph, whole, withBeta);
  return whole;
}

std::vector<JoinableNorm> joinableNorms(const Graph& graph, const Norms& norms, bool rmsWithBeta, bool leadingOnes) {
  std::vector<JoinableNorm> out;
  const auto note = [&](const std::string& name, WholeNorm norm) {
    if (isJoinable(graph, norm, leadingOnes)) out.push_back({name, std::move(norm)});
  };
  for (const auto& norm : norms.layerNorms) {
    if (norm.blockedReason.empty()) note(norm.name, wholeNorm(graph, norm));
  }
  for (const auto& norm : norms.others) {
    if (norm.kind == OtherNormKind::RmsNorm && norm.exactMeans) note(norm.name, wholeNorm(graph, norm, rmsWithBeta));
  }
  return out;
}

std::optional<graph::Use> readOf(const Graph& graph, const WholeNorm& norm, graph::ValueId value) {
  for (const graph::Use& use : graph.value(value).uses) {
    if (use.node != graph::kNone && isMember(norm, use.node)) return use;
  }
  for (const graph::Use& use : graph.value(value).uses) {
    if (use.node == graph::kNone || !isTypeCast(graph.node(use.node))) continue;
    if (readOf(graph, norm, graph.node(use.node).outputs[0])) return use;
  }
  return std::nullopt;
}

}  // namespace normlens::analysis
