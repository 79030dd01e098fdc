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

std::vector<NormPartner> normPartners(const graph::Graph& a, const analysis::Norms& normsOfA, const graph::Graph& b,
                                      const analysis::Norms& normsOfB) {
  const auto listA = normsInOrder(a, normsOfA.layerNorms, normsOfA.others);
  const auto listB = normsInOrder(b, normsOfB.layerNorms, normsOfB.others);
  std::unordered_map<std::string, EitherNorm> byName;
  for (const EitherNorm& norm : listB) byName.emplace(b.value(norm.parts().output).name, norm);
  std::vector<NormPartner> partners;
  for (size_t i = 0; i < listA.size(); ++i) {
    if (listA[i].layer == nullptr) continue;
    partners.push_back({listA[i].layer, {}});
    const auto named = byName.find(a.value(listA[i].parts().output).name);
    if (listA.size() == listB.size()) {
      partners.back().other = listB[i];
    } else if (named != byName.end()) {
      partners.back().other = named->second;
    }
  }
  return partners;
}

}  // namespace normlens::run
