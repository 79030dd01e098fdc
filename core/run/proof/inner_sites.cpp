#include "core/run/proof/inner_sites.h"

#include <algorithm>
#include <iterator>

#include "core/graph/contains.h"
#include "core/run/proof/deciding_values.h"
#include "core/run/proof/hidden_norms.h"

namespace normlens::run {

using formats::Tensors;
using graph::ValueId;

namespace {

void addTo(std::vector<ValueId>& ids, const std::vector<ValueId>& added) {
  std::ranges::copy_if(added, std::back_inserter(ids), [&](ValueId id) { return !contains(ids, id); });
}

}  // namespace

// Indices that agree, and lists that are empty, may do so by chance: what decides them is compared as well.
InnerSites::InnerSites(const ChangeUnderTest& change) : besides_(change.keptOutputs) {
  const std::vector<ValueId> deciding = decidingValues(change.original.graph());
  for (const analysis::LayerNorm& norm : change.norms) {
    if (contains(deciding, norm.output)) deciding_.push_back(norm.index);
  }
  addTo(ofHidden_, deciding);
  std::vector<ValueId> changed = change.keptOutputs, all;
  std::ranges::transform(change.norms, std::back_inserter(all), &analysis::LayerNorm::output);
  addTo(changed, change.otherOutputs.value_or(all));
  for (HiddenNorm& hidden : hiddenNorms(change.original.graph(), changed, deciding)) {
    const auto norm = std::ranges::find(change.norms, hidden.output, &analysis::LayerNorm::output);
    if (contains(change.keptOutputs, hidden.output)) {
      hidden.before = {};
      deciding_.push_back(norm->index);
      addTo(ofHidden_, {hidden.output});
    }
    std::erase_if(hidden.before,
                  [&](ValueId value) { return contains(changed, value) && !contains(change.keptOutputs, value); });
    addTo(ofHidden_, hidden.before);
    hidden_.push_back({norm->name, norm->index, std::move(hidden.before)});
  }
}

InnerSites InnerSites::between(const ChangeUnderTest& change, const graph::Graph& a, const graph::Graph& b,
                               Which which) const {
  InnerSites made = *this;
  std::vector<ValueId> values = which == Which::All ? besides_ : std::vector<ValueId>();
  addTo(values, ofHidden_);
  if (!values.empty()) made.sites_ = sitesOf(a, change.norms, values, b);
  for (const Site& site : made.sites_) {
    made.ofA_.push_back(site.value);
    made.ofB_.insert(made.ofB_.end(), site.partners.begin(), site.partners.end());
  }
  return made;
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
    const bool ofNorm = site.kind == SiteKind::NormOutput;
    const bool counts = !ofNorm || contains(deciding_, site.norm);
    const bool shows = (ofNorm ? contains(deciding_, site.norm) : contains(ofHidden_, site.value)) ||
                       std::ranges::any_of(hidden_, [&](const Hidden& hidden) { return hidden.isShownBy(site); });
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
