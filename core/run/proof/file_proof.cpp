#include "core/run/proof/file_proof.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/run/compare/compare_models.h"
#include "core/run/proof/trial_run.h"
#include "core/run/tensors.h"

namespace normlens::run {
namespace {

using formats::Tensors;

// One output on one set of inputs.
struct Judged {
  TensorDiff diff;
  double noise = 0;                    // absolute
  std::optional<Distances> fromExact;  // the original's and the changed model's
};

struct Trial {
  Tensors inputs, exact, original, changed;  // exact: outputs of the original's float64 copy; may be empty
  std::vector<Judged> outputs{};
  int perturbed = 0;  // copies that were run on it
};

class FileProof {
 public:
  FileProof(const ChangeUnderTest& change, const VerifyOptions& options, const Task& task)
      : change_(change), options_(options), task_(task), type_(change.original.facts().dtype) {}

  Result<FileOutcome> compare(const Tensors& sample, const AlgebraOutcome& algebra) {
    std::vector<ExactRun> sets = algebra.exact;
    constexpr int kSets = 2;
    const auto drawn = batchesLike(sample, kSets, options_.seed);
    if (!drawn) return tl::unexpected(drawn.error());
    for (size_t i = sets.size(); i < kSets; ++i) sets.push_back({(*drawn)[i], {}});
    for (ExactRun& set : sets) {
      task_.report("comparing in " + std::string(graph::dtypeName(type_)), 0.5);
      if (const Status done = compareOn(set); !done) return tl::unexpected(done.error());
      if (!outcome_.reason.empty()) return std::move(outcome_);
    }
    if (const Status done = measureNoise(); !done) return tl::unexpected(done.error());
    if (algebra.passes() && losesDigits()) measureRounding();
    tell();
    return std::move(outcome_);
  }

 private:
  Status compareOn(const ExactRun& set) {
    const auto& [inputs, exact] = set;
    auto expected = runOn(change_.original, inputs, task_);
    if (!expected) return tl::unexpected(expected.error());
    if (!expected->seen) {
      if (!trials_.empty()) return {};
      if (const Status enough = unlessMemoryWanted(expected->error); !enough) return enough;
      outcome_.reason = "the model does not run on these inputs: " + expected->error;
      return {};
    }
    auto got = runOn(change_.changed, inputs, task_);
    if (!got) return tl::unexpected(got.error());
    if (const Status enough = unlessMemoryWanted(got->error); !enough) return enough;
    if (!got->seen) return refute(failsWhereOriginalRuns(*got));
    auto diffs = compareOutputs(expected->seen->outputs, got->seen->outputs);
    if (!diffs) return refute(diffs.error().message);
    Trial trial{inputs, exact, std::move(expected->seen->outputs), std::move(got->seen->outputs)};
    for (const TensorDiff& diff : *diffs) {
      outcome_.telling = outcome_.telling || diff.telling;
      trial.outputs.push_back({diff, options_.floorEpsilons * machineEpsilon(type_) * diff.scale, {}});
    }
    if (trials_.empty()) outcome_.outputs = std::move(*diffs);
    trials_.push_back(std::move(trial));
    return {};
  }

  Status refute(std::string reason) {
    outcome_.worst = {std::numeric_limits<double>::infinity(), std::numeric_limits<double>::infinity()};
    outcome_.reason = std::move(reason);
    return {};
  }

  // How far other outputs are from the original's, where the changed model's differ from that. f is given what is
  // judged and the distances.
  template <class F>
  static void forEachDistance(Trial& trial, const Tensors& others, const F& f) {
    for (size_t i = 0; others.size() == trial.outputs.size() && i < others.size(); ++i) {
      const auto distances = compareToThird(trial.original[i].view, trial.changed[i].view, others[i].view);
      if (distances) f(trial.outputs[i], *distances);
    }
  }

  // Each copy can only raise the floor: what is within its limit stays there, and needs no more of them.
  Status measureNoise() {
    for (int copy = 0; copy < options_.perturbedCopies && !allWithin(); ++copy) {
      task_.report("measuring the noise of rounding", 0.55 + 0.45 * copy / std::max(1, options_.perturbedCopies));
      if (const Status running = task_.check(); !running) return running;
      const auto perturbed = change_.original.perturbed(options_.seed + static_cast<uint64_t>(copy));
      // Nothing to perturb: the floor stays at the type's own.
      if (!perturbed) return unlessMemoryWanted(perturbed.error().message);
      for (Trial& trial : trials_) {
        if (isWithin(trial)) continue;
        const auto ran = runOn(**perturbed, trial.inputs, task_);
        if (!ran) return tl::unexpected(ran.error());
        if (const Status enough = unlessMemoryWanted(ran->error); !enough) return enough;
        ++trial.perturbed;
        if (!ran->seen) continue;
        forEachDistance(trial, ran->seen->outputs, [](Judged& output, const Distances& distances) {
          // A copy that overflows says nothing about rounding.
          if (std::isfinite(distances.maxA)) output.noise = std::max(output.noise, distances.maxA);
        });
      }
    }
    return {};
  }

  // How far the original is from its float64 copy, where that is no more than rounding, and the changed model.
  void measureRounding() {
    for (Trial& trial : trials_) {
      forEachDistance(trial, trial.exact, [&](Judged& output, const Distances& distances) {
        const bool isRounding = distances.maxA <= options_.mostRounding * output.diff.scale;
        if (isRounding && !isWithin(output)) output.noise = std::max(output.noise, distances.maxA);
        output.fromExact = distances;
      });
    }
  }

  // Whatever the noise, relative.
  [[nodiscard]] double ownLimit() const {
    const double few = options_.floorFactor * options_.floorEpsilons * machineEpsilon(type_);
    return type_ == graph::DType::Float64 ? std::max(few, options_.algebraLimit) : few;
  }
  [[nodiscard]] double limitOf(const Judged& output) const {
    return std::max(options_.floorFactor * output.noise, ownLimit() * output.diff.scale);
  }
  [[nodiscard]] bool isWithin(const Judged& output) const { return output.diff.maxAbs <= limitOf(output); }
  [[nodiscard]] bool isWithin(const Trial& trial) const {
    return std::ranges::all_of(trial.outputs, [&](const Judged& output) { return isWithin(output); });
  }
  [[nodiscard]] bool allWithin() const {
    return std::ranges::all_of(trials_, [&](const Trial& trial) { return isWithin(trial); });
  }

  // Off by more than a few roundings.
  [[nodiscard]] bool losesDigits() const {
    return std::ranges::any_of(trials_, [&](const Trial& trial) {
      return std::ranges::any_of(
          trial.outputs, [&](const Judged& output) { return output.diff.maxAbs > ownLimit() * output.diff.scale; });
    });
  }

  // Not by luck: at most half as far, on all inputs, and on the mean.
  [[nodiscard]] bool isNearer(size_t index) const {
    return std::ranges::all_of(trials_, [&](const Trial& trial) {
      if (index >= trial.outputs.size()) return false;
      const auto& [diff, noise, fromExact] = trial.outputs[index];
      if (diff.maxAbs == 0) return true;
      return fromExact && 2 * fromExact->maxB <= fromExact->maxA && 2 * fromExact->meanB <= fromExact->meanA &&
             fromExact->maxB <= options_.mostRounding * diff.scale;
    });
  }

  // Each output has the floor of its own noise: an index that flips would excuse whatever the others are off by. Told
  // is the output that is farthest above its limit; if that is within the limit, rather one whose floor says something.
  void tell() {
    constexpr double kMeaningful = 0.1;  // of a floor: with more, the output is noise all through
    constexpr double kOnlyIfNoOther = -0.5;
    outcome_.passes = true;
    outcome_.worst.emplace();
    outcome_.noiseFloor = options_.floorEpsilons * machineEpsilon(type_);
    outcome_.limit = ownLimit();
    int perturbed = 0;
    double most = -1;
    for (const Trial& trial : trials_) {
      for (size_t i = 0; i < trial.outputs.size(); ++i) {
        const Judged& output = trial.outputs[i];
        if (output.diff.maxAbs == 0) continue;
        const bool nearer = output.fromExact && isNearer(i);
        if (nearer) includeNearer(output);
        outcome_.passes = outcome_.passes && (nearer || isWithin(output));
        double above = output.diff.maxAbs / limitOf(output);
        if (above <= 1 && output.noise > kMeaningful * output.diff.scale) above = kOnlyIfNoOther;
        if (above <= most) continue;
        most = above;
        perturbed = trial.perturbed;
        tell(output);
      }
    }
    if (outcome_.passes && perturbed < options_.perturbedCopies) outcome_.enoughCopies = perturbed;
  }

  void tell(const Judged& output) {
    outcome_.worst = {output.diff.maxAbs, output.diff.maxRel};
    const double scale = output.diff.scale > 0 ? output.diff.scale : 1;
    outcome_.noiseFloor = output.noise / scale;
    outcome_.limit = limitOf(output) / scale;
  }

  void includeNearer(const Judged& output) {
    const double original = output.fromExact->maxA / output.diff.scale;
    if (outcome_.nearer && outcome_.nearer->original >= original) return;
    outcome_.nearer = {original, output.fromExact->maxB / output.diff.scale};
  }

  const ChangeUnderTest& change_;
  const VerifyOptions& options_;
  const Task& task_;
  graph::DType type_;
  std::vector<Trial> trials_;
  FileOutcome outcome_;
};

}  // namespace

Result<FileOutcome> compareFiles(const ChangeUnderTest& change, const Tensors& sample, const VerifyOptions& options,
                                 const AlgebraOutcome& algebra, const Task& task) {
  return FileProof(change, options, task).compare(sample, algebra);
}

}  // namespace normlens::run
