#include "core/run/proof/twins.h"

#include <algorithm>

#include "core/run/proof/trial_run.h"

namespace normlens::run {

using formats::Model;
using formats::Tensors;

Result<Twins> Twins::make(const ChangeUnderTest& change, const InnerSites& inner, const Task& task) {
  Twins twins;
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
  twins.inner_ = inner.between(change, twins.original_->graph(), twins.changed_->graph(), InnerSites::Which::All);
  return twins;
}

Result<TwinRun> Twins::run(const Tensors& inputs, const Task& task) const {
  TwinRun run;
  const auto expected = runOn(*original_, inputs, task, inner_.ofA());
  if (!expected) return tl::unexpected(expected.error());
  if (!expected->seen) {
    run.refused = expected->error;
    return run;
  }
  const auto got = runOn(*changed_, inputs, task, inner_.ofB());
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
    run.unseen = inner_.unseen(run.pairs, expected->seen->values);
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
    pairs.push_back({a.outputs[i].view, b.outputs[i].view, (*diffs)[i], i});
  }
  const bool blind = std::ranges::all_of(*diffs, [](const TensorDiff& diff) { return diff.maxAbs == 0; });
  for (ComparedPair& pair : inner_.compare(a.values, b.values)) {
    pair.counts = pair.counts || blind;
    pair.shows = pair.shows || blind;
    pairs.push_back(std::move(pair));
  }
  return pairs;
}

Status Twins::measureNoise(std::vector<ComparedPair>& pairs, const Tensors& inputs, const VerifyOptions& options,
                           const Task& task) const {
  for (int copy = 0; copy < options.perturbedCopies; ++copy) {
    const auto perturbed = original_->perturbed(options.seed + static_cast<uint64_t>(copy));
    if (!perturbed) return unlessMemoryWanted(perturbed.error().message);  // nothing to perturb: there is no noise
    const auto ran = runOn(**perturbed, inputs, task, inner_.ofA());
    if (!ran) return tl::unexpected(ran.error());
    if (!ran->seen) continue;
    const Captured values = captured(inner_.ofA(), ran->seen->values);
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
