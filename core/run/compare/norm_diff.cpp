#include "core/run/compare/norm_diff.h"

#include <algorithm>
#include <iterator>

namespace normlens::run {

namespace {

std::vector<Site> outputSites(const formats::Model& a, const std::vector<analysis::LayerNorm>& normsOfA,
                              const formats::Model& b) {
  std::vector<Site> sites = normSites(a.graph(), normsOfA, b.graph());
  std::erase_if(sites, [](const Site& site) { return site.kind != SiteKind::NormOutput; });
  return sites;
}

Result<std::vector<TensorDiff>> compareSites(const formats::Model& a, const formats::Model& b,
                                             const std::vector<Site>& sites, const formats::Tensors& inputs,
                                             const Task& task) {
  std::vector<TensorDiff> rows;
  if (sites.empty()) return rows;
  std::vector<graph::ValueId> valuesOfA, valuesOfB;
  for (const Site& site : sites) {
    valuesOfA.push_back(site.value);
    valuesOfB.insert(valuesOfB.end(), site.partners.begin(), site.partners.end());
  }
  const auto capturedA = capture(a, valuesOfA, inputs, task);
  if (!capturedA) return tl::unexpected(capturedA.error());
  const auto capturedB = capture(b, valuesOfB, inputs, task);
  if (!capturedB) return tl::unexpected(capturedB.error());
  for (const Site& site : sites) {
    if (auto pair = bestPair(site, *capturedA, *capturedB)) rows.push_back(std::move(pair->diff));
  }
  return rows;
}

}  // namespace

Result<std::vector<TensorDiff>> compareNorms(const formats::Model& a, const std::vector<analysis::LayerNorm>& normsOfA,
                                             const formats::Model& b, const formats::Tensors& inputs,
                                             const Task& task) {
  return compareSites(a, b, outputSites(a, normsOfA, b), inputs, task);
}

std::vector<Site> sitesOf(const formats::Model& a, const std::vector<analysis::LayerNorm>& normsOfA,
                          const std::vector<graph::ValueId>& values, const formats::Model& b) {
  const auto wanted = [&](graph::ValueId value) { return std::ranges::find(values, value) != values.end(); };
  std::vector<int> norms;
  std::vector<graph::ValueId> others = values;
  for (const analysis::LayerNorm& norm : normsOfA) {
    if (!wanted(norm.output)) continue;
    norms.push_back(norm.index);
    std::erase(others, norm.output);
  }
  std::vector<Site> sites = outputSites(a, normsOfA, b);
  std::erase_if(sites, [&](const Site& site) { return std::ranges::find(norms, site.norm) == norms.end(); });
  std::ranges::move(valueSites(a.graph(), others, b.graph()), std::back_inserter(sites));
  return sites;
}

std::string firstDiverging(const std::vector<TensorDiff>& norms, double limit) {
  const auto first = std::ranges::find_if(norms, [&](const TensorDiff& norm) { return !(norm.maxRel <= limit); });
  return first == norms.end() ? std::string() : first->name;
}

}  // namespace normlens::run
