#include "core/analysis/norms/near_norms.h"

#include <algorithm>
#include <set>

#include "core/analysis/graph_names.h"
#include "core/analysis/norms/written_nodes.h"
#include "core/graph/queries.h"
#include "core/ops/rules.h"

namespace normlens::analysis {
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

// Returns whether a value is made of `x` by a reduction other than `mean`.
bool isSpreadOf(const Graph& graph, ValueId value, ValueId x, const Node* mean) {
  bool reduces = false;
  std::vector<ValueId> behind{value};
  for (size_t next = 0; next < behind.size() && next < kMostBehind; ++next) {
    const Node* node = behind[next] == x ? nullptr : producerOf(graph, behind[next]);
    if (node == nullptr) continue;
    reduces = reduces || (node->kind == OpKind::Reduce && node != mean);
    behind.insert(behind.end(), node->operands.begin(), node->operands.end());
  }
  return reduces && std::ranges::find(behind, x) != behind.end();
}

// Without a shape it is not known what it is.
bool isNear(const Graph& graph, const Node& quotient) {
  const Node* centering = centeringIn(graph, quotient.operands[0]);
  return centering != nullptr && graph.value(quotient.outputs[0]).shape &&
         isSpreadOf(graph, quotient.operands[1], centering->operands[0], producerOf(graph, centering->operands[1]));
}

}  // namespace

std::vector<OtherNorm> nearNorms(const Graph& graph, const Norms& norms) {
  std::set<NodeId> taken;
  for (const LayerNorm& norm : norms.layerNorms) taken.insert(norm.members.begin(), norm.members.end());
  for (const OtherNorm& norm : norms.others) taken.insert(norm.members.begin(), norm.members.end());
  std::vector<OtherNorm> found;
  for (const NodeId id : graph.executionOrder()) {
    const Node& node = graph.node(id);
    if (node.kind != OpKind::Div || taken.contains(id) || !isNear(graph, node)) continue;
    OtherNorm norm;
    norm.node = id;
    norm.name = node.name;
    norm.kind = OtherNormKind::NearLayerNorm;
    norm.form = NormForm::Decomposed;
    found.push_back(std::move(norm));
  }
  return found;
}

}  // namespace normlens::analysis
