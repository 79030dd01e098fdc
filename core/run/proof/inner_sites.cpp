#include "core/run/proof/inner_sites.h"

#include <algorithm>

#include "core/graph/contains.h"
#include "core/run/proof/deciding_values.h"
#include "core/run/proof/hidden_norms.h"

namespace normlens::run {

using formats::Tensors;
using graph::ValueId;

// Indices that agree, and lists that are empty, may do so by chance: what decides them is compared as well.
InnerSites::InnerSites(const ChangeUnderTest& change, const graph::Graph& a, const graph::Graph& b, Which which) {
  const std::vector<ValueId> deciding = decidingValues(change.original.graph());
  for (const analysis::LayerNorm& norm : change.norms) {
    if (contains(deciding, norm.output)) deciding_.push_back(norm.index);
  }
  std::vector<ValueId> changed = change.keptOutputs, values;
  const auto addTo = [](std::vector<ValueId>& ids) {
    return [&ids](ValueId id) {
      if (!contains(ids, id)) ids.push_back(id);
    };
  };
  if (change.otherOutputs) {
    std::ranges::for_each(*change.otherOutputs, addTo(changed));
  } else {
    std::ranges::for_each(change.norms, addTo(changed), &analysis::LayerNorm::output);
  }
  if (which == Which::All) {
    std::ranges::for_each(deciding, addTo(values));
    std::ranges::for_each(change.keptOutputs, addTo(values));
  }
  for (HiddenNorm& hidden : hiddenNorms(change.original.graph(), changed, deciding)) {
    const auto norm = std::ranges::find(change.norms, hidden.output, &analysis::LayerNorm::output);
    if (contains(change.keptOutputs, hidden.output)) {
      hidden.before = {};
      deciding_.push_back(norm->index);
      addTo(values)(hidden.output);
    }
    std::erase_if(hidden.before,
                  [&](ValueId value) { return contains(changed, value) && !contains(change.keptOutputs, value); });
    std::ranges::for_each(hidden.before, addTo(values));
    hidden_.push_back({norm->name, norm->index, std::move(hidden.before)});
  }
  if (!values.empty()) sites_ = sitesOf(a, change.norms, values, b);
  for (const Site& site : sites_) {
    ofA_.push_back(site.value);
    ofB_.insert(ofB_.end(), site.partners.begin(), site.partners.end());
  }
}

bool InnerSites::Hidden::isShownBy(const Site& site) const {
  return shownBy.empty() ? site.kind == SiteKind::NormOutput && site.norm == index : contains(shownBy, site.value);
}

std::vector<ComparedPair> InnerSites::compare(const Tensors& a, const Tensors& b) const {
  std::vector<ComparedPair> pairs;
  const Captured capturedA = captured(ofA_, a), capturedB = captured(ofB_, b);
  for (const Site& site : sites_) {
    auto best = bestPair(site, capturedA, capturedB);
    if (!best) continue;
    const bool counts = site.kind != SiteKind::NormOutput || contains(deciding_, site.norm);
    const bool shows = std::ranges::any_of(hidden_, [&](const Hidden& hidden) { return hidden.isShownBy(site); });
    pairs.push_back({best->a, best->b, std::move(best->diff), 0, &site, best->alignment, counts, shows});
  }
  return pairs;
}

void InnerSites::append(const std::vector<ComparedPair>& pairs, formats::Model::SeenRun& a) const {
  const Captured values = captured(ofA_, a.values);
  for (const ComparedPair& pair : pairs)
    a.outputs.push_back(
        {pair.site->name, comparable(*pair.site, values, pair.alignment).value_or(graph::TensorView())});
}

std::string InnerSites::unseen(const std::vector<ComparedPair>& pairs, const Tensors& values) const {
  const Captured reached = captured(ofA_, values);
  const auto isUnseen = [&](const Hidden& hidden) {
    int places = 0, notReached = 0;
    for (const Site& site : sites_) {
      if (!hidden.isShownBy(site)) continue;
      const auto value = reached.find(site.value);
      ++places;
      if (value == reached.end() || !value->second.data) ++notReached;
    }
    const bool shows = std::ranges::any_of(
        pairs, [&](const ComparedPair& pair) { return pair.site != nullptr && hidden.isShownBy(*pair.site); });
    return !shows && (places == 0 || notReached < places);
  };
  const auto found = std::ranges::find_if(hidden_, isUnseen);
  return found == hidden_.end() ? std::string() : found->name;
}

void InnerSites::dropSites() {
  sites_.clear();
  ofA_.clear();
  ofB_.clear();
}

}  // namespace normlens::run
