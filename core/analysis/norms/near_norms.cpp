#include "core/analysis/norms/near_norms.h"

#include <algorithm>
#include <set>

#include "core/analysis/norms/written_nodes.h"
#include "core/graph/queries.h"
#include "core/ops/rules.h"

namespace normlens::analysis {

using graph::Graph;
using graph::kNone;
using graph::kNoValue;
using graph::Node;
using graph::NodeId;
using graph::OpKind;
using graph::ValueId;

namespace {

constexpr size_t kMostBehind = 16;

// x - mean(x), perhaps cast or times a gamma by now.
const Node* centeringIn(const Graph& graph, ValueId value) {
  const Node* node = producerOf(graph, value);
  if (node != nullptr && node->kind == OpKind::Mul) {
    const bool first = producerOf(graph, node->operands[0]) != nullptr;
    node = producerOf(graph, node->operands[first ? 0 : 1]);
  }
  while (node != nullptr && node->kind == OpKind::Cast) node = producerOf(graph, node->operands[0]);
  return node != nullptr && ops::explicitCentering(graph, *node) ? node : nullptr;
}

// The reductions that a value is made of, from `x` on.
std::vector<const Node*> reductionsIn(const Graph& graph, ValueId value, ValueId x) {
  std::vector<const Node*> found;
  std::vector<ValueId> behind{value};
  for (size_t next = 0; next < behind.size() && next < kMostBehind; ++next) {
    const Node* node = behind[next] == x ? nullptr : producerOf(graph, behind[next]);
    if (node == nullptr) continue;
    if (node->kind == OpKind::Reduce) found.push_back(node);
    behind.insert(behind.end(), node->operands.begin(), node->operands.end());
  }
  return std::ranges::find(behind, x) == behind.end() ? std::vector<const Node*>() : found;
}

// Empty: nothing, or it is no norm.
std::string hindrance(const Graph& graph, const Node& quotient) {
  const Node* centering = centeringIn(graph, quotient.operands[0]);
  if (centering == nullptr) return {};
  const auto reductions = reductionsIn(graph, quotient.operands[1], centering->operands[0]);
  const Node* sum = producerOf(graph, quotient.operands[1]);
  const Node* mean = producerOf(graph, centering->operands[1]);
  std::string why;
  const auto add = [&](const char* reason) { why += (why.empty() ? "" : ", and ") + std::string(reason); };
  const auto isUnbiased = [](const Node* node) { return graph::boolAttribute(*node, "unbiased"); };
  const auto differs = [&](const Node* node) {
    return mean->kind == OpKind::Reduce && graph::intsAttribute(*node, "axes") != graph::intsAttribute(*mean, "axes");
  };
  if (reductions.empty() || sum == nullptr || mean == nullptr) return {};
  if (std::ranges::any_of(reductions, isUnbiased)) add("its variance is divided by n - 1");
  if (sum->kind == OpKind::Add) add("its eps is added behind the root");
  if (std::ranges::any_of(reductions, differs)) add("its variance is taken over other axes than its mean");
  return why;
}

}  // namespace

std::vector<OtherNorm> nearNorms(const Graph& graph, const std::vector<LayerNorm>& layerNorms) {
  std::set<NodeId> taken;
  for (const LayerNorm& norm : layerNorms) taken.insert(norm.members.begin(), norm.members.end());
  std::vector<OtherNorm> found;
  for (const NodeId id : graph.executionOrder()) {
    const Node& node = graph.node(id);
    if (node.kind != OpKind::Div || taken.contains(id)) continue;
    const std::string why = hindrance(graph, node);
    if (why.empty()) continue;
    OtherNorm norm;
    norm.node = id;
    norm.name = node.name;
    norm.kind = std::string(kNearLayerNorm) + ", kept: " + why;
    norm.form = NormForm::Decomposed;
    found.push_back(std::move(norm));
  }
  return found;
}

}  // namespace normlens::analysis
