#include "core/run/norm_diff.h"

#include <algorithm>

#include "core/run/sites.h"

namespace normlens::run {

Result<std::vector<TensorDiff>> compareNorms(const formats::Model& a, const std::vector<analysis::LayerNorm>& normsOfA,
                                             const formats::Model& b, const formats::Tensors& inputs,
                                             const Task& task) {
  std::vector<Site> sites = normSites(a.graph(), normsOfA, b.graph());
  std::erase_if(sites, [](const Site& site) { return site.kind != SiteKind::NormOutput; });
  if (sites.empty()) return std::vector<TensorDiff>{};
  std::vector<graph::ValueId> valuesOfA, valuesOfB;
  for (const Site& site : sites) {
    valuesOfA.push_back(site.value);
    valuesOfB.insert(valuesOfB.end(), site.partners.begin(), site.partners.end());
  }
  const auto capturedA = capture(a, valuesOfA, inputs, task);
  if (!capturedA) return tl::unexpected(capturedA.error());
  const auto capturedB = capture(b, valuesOfB, inputs, task);
  if (!capturedB) return tl::unexpected(capturedB.error());
  std::vector<TensorDiff> rows;
  for (const Site& site : sites) {
    if (auto pair = bestPair(site, *capturedA, *capturedB)) rows.push_back(std::move(pair->diff));
  }
  return rows;
}

std::string firstDiverging(const std::vector<TensorDiff>& norms, double limit) {
  const auto first = std::ranges::find_if(norms, [&](const TensorDiff& norm) { return !(norm.maxRel <= limit); });
  return first == norms.end() ? std::string() : first->name;
}

}  // namespace normlens::run
