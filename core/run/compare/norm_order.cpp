#include "core/run/compare/norm_order.h"

#include <algorithm>
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

namespace {

// Both lists, and for each norm of the first its place in the second; -1: it has no partner.
struct Pairing {
  std::vector<EitherNorm> a, b;
  std::vector<int> partners;
};

Pairing paired(const graph::Graph& a, const analysis::Norms& normsOfA, const graph::Graph& b,
               const analysis::Norms& normsOfB) {
  Pairing pairing{
      normsInOrder(a, normsOfA.layerNorms, normsOfA.others), normsInOrder(b, normsOfB.layerNorms, normsOfB.others), {}};
  std::unordered_map<std::string, int> byName;
  for (size_t i = 0; i < pairing.b.size(); ++i)
    byName.emplace(b.value(pairing.b[i].parts().output).name, static_cast<int>(i));
  const bool byRank = pairing.a.size() == pairing.b.size();
  for (size_t i = 0; i < pairing.a.size(); ++i) {
    const auto named = byName.find(a.value(pairing.a[i].parts().output).name);
    pairing.partners.push_back(byRank ? static_cast<int>(i) : named == byName.end() ? -1 : named->second);
  }
  return pairing;
}

}  // namespace

std::vector<NormPartner> normPartners(const graph::Graph& a, const analysis::Norms& normsOfA, const graph::Graph& b,
                                      const analysis::Norms& normsOfB) {
  const Pairing pairing = paired(a, normsOfA, b, normsOfB);
  std::vector<NormPartner> partners;
  for (size_t i = 0; i < pairing.a.size(); ++i) {
    const int place = pairing.partners[i];
    partners.push_back({pairing.a[i], place < 0 ? EitherNorm() : pairing.b[static_cast<size_t>(place)]});
  }
  return partners;
}

std::vector<std::string> unpaired(const graph::Graph& a, const analysis::Norms& normsOfA, const graph::Graph& b,
                                  const analysis::Norms& normsOfB) {
  const Pairing pairing = paired(a, normsOfA, b, normsOfB);
  std::vector<std::string> names;
  // Several inside one operator are not told apart, and only one of them is listed.
  for (const analysis::LayerNorm& norm : normsOfA.layerNorms) {
    const auto isIt = [&](const EitherNorm& listed) { return listed.layer == &norm; };
    if (std::ranges::none_of(pairing.a, isIt)) names.push_back(norm.title);
  }
  for (size_t i = 0; i < pairing.b.size(); ++i) {
    const bool isPaired = std::ranges::find(pairing.partners, static_cast<int>(i)) != pairing.partners.end();
    if (!isPaired && pairing.b[i].rms != nullptr) names.push_back(pairing.b[i].name());
  }
  return names;
}

}  // namespace normlens::run
