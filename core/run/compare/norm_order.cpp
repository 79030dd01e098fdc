#include "core/run/compare/norm_order.h"

#include <unordered_map>

namespace normlens::run {

std::vector<EitherNorm> normsInOrder(const graph::Graph& graph, const std::vector<analysis::LayerNorm>& layerNorms,
                                     const std::vector<analysis::OtherNorm>& others) {
  std::unordered_map<graph::NodeId, EitherNorm> byNode;
  for (const analysis::LayerNorm& norm : layerNorms) byNode.emplace(norm.node, EitherNorm{&norm, nullptr});
  for (const analysis::OtherNorm& norm : others) {
    if (norm.kind == OtherNormKind::RmsNorm) byNode.emplace(norm.node, EitherNorm{nullptr, &norm});
  }
  std::vector<EitherNorm> ordered;
  for (const graph::NodeId id : graph.executionOrder()) {
    if (const auto norm = byNode.find(id); norm != byNode.end()) ordered.push_back(norm->second);
  }
  return ordered;
}

}  // namespace normlens::run
