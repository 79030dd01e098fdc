#include "core/run/proof/twins.h"

#include <algorithm>

#include "core/graph/contains.h"
#include "core/run/proof/deciding_values.h"
#include "core/run/proof/trial_run.h"

namespace normlens::run {
namespace {

using formats::Model;
using formats::Tensors;
using graph::ValueId;

}  // namespace

Result<Twins> Twins::make(const ChangeUnderTest& change, const Task& task) {
  Twins twins(change);
  auto original = change.original.toFloat64();
  if (!original) return tl::unexpected(original.error());
  if (const Status running = task.check(); !running) return tl::unexpected(running.error());
  auto changed = change.change(**original);
  if (!changed) {
    Error error = changed.error();
    error.message = "the change cannot be made to a float64 copy: " + error.message;
    return tl::unexpected(std::move(error));
  }
  twins.original_ = std::move(*original);
  twins.changed_ = std::move(*changed);
  twins.chooseSites();
  return twins;
}

// Indices that agree, and lists that are empty, may do so by chance: what decides them is compared as well.
void Twins::chooseSites() {
  deciding_ = decidingValues(change_->original.graph());
  std::vector<ValueId> values = deciding_;
  std::ranges::copy_if(change_->keptOutputs, std::back_inserter(values),
                       [&](ValueId kept) { return !contains(deciding_, kept); });
  sites_ = sitesOf(original_->graph(), change_->norms, values, changed_->graph());
  for (const Site& site : sites_) {
    seenOfOriginal_.push_back(site.value);
    seenOfChanged_.insert(seenOfChanged_.end(), site.partners.begin(), site.partners.end());
  }
}

void Twins::lookAtOutputsOnly() {
  sites_.clear();
  seenOfOriginal_.clear();
  seenOfChanged_.clear();
}

bool Twins::counts(const Site& site) const {
  if (site.kind != SiteKind::NormOutput) return true;
  const auto norm = std::ranges::find(change_->norms, site.norm, &analysis::LayerNorm::index);
  return norm != change_->norms.end() && contains(deciding_, norm->output);
}

Result<TwinRun> Twins::run(const Tensors& inputs, const Task& task) const {
  TwinRun run;
  const auto expected = runOn(*original_, inputs, task, seenOfOriginal_);
  if (!expected) return tl::unexpected(expected.error());
  if (!expected->seen) {
    run.refused = expected->error;
    return run;
  }
  const auto got = runOn(*changed_, inputs, task, seenOfChanged_);
  if (!got) return tl::unexpected(got.error());
  if (const Status enough = unlessMemoryWanted(got->error); !enough) return tl::unexpected(enough.error());
  if (!got->seen) {
    run.failed = failsWhereOriginalRuns(*got);
    return run;
  }
  run.narrowOp = got->seen->narrowOp;
  auto pairs = compare(*expected->seen, *got->seen);
  if (pairs) {
    run.pairs = std::move(*pairs);
  } else {
    run.failed = pairs.error().message;
  }
  return run;
}

Result<std::vector<ComparedPair>> Twins::compare(const Model::SeenRun& a, const Model::SeenRun& b) const {
  auto diffs = compareOutputs(a.outputs, b.outputs);
  if (!diffs) return tl::unexpected(diffs.error());
  std::vector<ComparedPair> pairs;
  for (size_t i = 0; i < diffs->size(); ++i) {
    pairs.push_back({a.outputs[i].view, b.outputs[i].view, std::move((*diffs)[i]), i});
  }
  const Captured ofA = captured(seenOfOriginal_, a.values), ofB = captured(seenOfChanged_, b.values);
  for (const Site& site : sites_) {
    auto best = bestPair(site, ofA, ofB);
    if (best) pairs.push_back({best->a, best->b, std::move(best->diff), 0, &site, best->alignment, counts(site)});
  }
  return pairs;
}

Status Twins::measureNoise(std::vector<ComparedPair>& pairs, const Tensors& inputs, const VerifyOptions& options,
                           const Task& task) const {
  for (int copy = 0; copy < options.perturbedCopies; ++copy) {
    const auto perturbed = original_->perturbed(options.seed + static_cast<uint64_t>(copy));
    if (!perturbed) return unlessMemoryWanted(perturbed.error().message);  // nothing to perturb: there is no noise
    const auto ran = runOn(**perturbed, inputs, task, seenOfOriginal_);
    if (!ran) return tl::unexpected(ran.error());
    if (!ran->seen) continue;
    const Captured values = captured(seenOfOriginal_, ran->seen->values);
    for (ComparedPair& pair : pairs) {
      if (pair.farRows.empty()) continue;
      if (pair.site != nullptr) {
        const auto other = comparable(*pair.site, values, pair.alignment);
        if (other) includeNoise(pair.a, *other, pair.farRows);
      } else if (pair.output < ran->seen->outputs.size()) {
        includeNoise(pair.a, ran->seen->outputs[pair.output].view, pair.farRows);
      }
    }
  }
  return {};
}

}  // namespace normlens::run
