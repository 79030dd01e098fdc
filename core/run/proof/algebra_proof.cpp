#include "core/run/proof/algebra_proof.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/run/compare/compare_models.h"
#include "core/run/inputs/draw.h"
#include "core/run/inputs/other_sizes.h"
#include "core/run/proof/inner_sites.h"
#include "core/run/proof/trial_run.h"
#include "core/run/tensors.h"

namespace normlens::run {
namespace {

using formats::Model;
using formats::Tensors;

// The float64 copy of an original, and the change made to it, run side by side and compared: their outputs, and what
// inner_sites.h adds.
struct TwinRun {
  std::string refused;  // by the original itself: nothing was compared
  std::string failed;   // in the changed one alone; a plain sentence
  std::vector<ComparedPair> pairs;
  std::string unseen;                     // a norm, see InnerSites
  std::optional<std::string> narrowOp{};  // The changed one's; nullopt: such a run does not record it.
  Tensors outputs{};                      // the original's
};

class Twins {
 public:
  // inner: of the change. Error: why there are none.
  [[nodiscard]] static Result<Twins> make(const ChangeUnderTest& change, const InnerSites& inner, const Task& task);

  // Errors: cancelled, want of memory.
  [[nodiscard]] Result<TwinRun> run(const formats::Tensors& inputs, const Task& task) const;
  // Measures the noise of the far rows of pairs that a run on these inputs gave. Errors: those of run().
  [[nodiscard]] Status measureNoise(std::vector<ComparedPair>& pairs, const formats::Tensors& inputs,
                                    const VerifyOptions& options, const Task& task) const;

  [[nodiscard]] bool looksInside() const { return !inner_.ofA().empty(); }
  void lookAtOutputsOnly() { inner_.dropSites(); }

  [[nodiscard]] const formats::Model& original() const { return *original_; }
  [[nodiscard]] const formats::Model& changed() const { return *changed_; }

 private:
  [[nodiscard]] Result<std::vector<ComparedPair>> compare(const formats::Model::SeenRun& a,
                                                          const formats::Model::SeenRun& b) const;

  std::unique_ptr<formats::Model> original_, changed_;
  InnerSites inner_;
};

Result<Twins> Twins::make(const ChangeUnderTest& change, const InnerSites& inner, const Task& task) {
  Twins twins;
  ASSIGN_OR_RETURN(auto original, change.original.toFloat64());
  RETURN_IF_ERROR(task.check());
  auto changed = change.change(*original);
  if (!changed) {
    Error error = changed.error();
    error.message = "the change cannot be made to a float64 copy: " + error.message;
    return tl::unexpected(std::move(error));
  }
  twins.original_ = std::move(original);
  twins.changed_ = std::move(*changed);
  twins.inner_ = inner.between(change, twins.original_->graph(), twins.changed_->graph(), InnerSites::Which::All);
  return twins;
}

Result<TwinRun> Twins::run(const Tensors& inputs, const Task& task) const {
  TwinRun run;
  ASSIGN_OR_RETURN(const auto expected, runOn(*original_, inputs, task, inner_.ofA()));
  if (!expected.seen) {
    run.refused = expected.error;
    return run;
  }
  ASSIGN_OR_RETURN(const auto got, runOn(*changed_, inputs, task, inner_.ofB()));
  RETURN_IF_ERROR(unlessMemoryWanted(got.error));
  if (!got.seen) {
    run.failed = failsWhereOriginalRuns(got);
    return run;
  }
  run.narrowOp = got.seen->narrowOp;
  run.outputs = expected.seen->outputs;
  auto pairs = compare(*expected.seen, *got.seen);
  if (pairs) {
    run.pairs = std::move(*pairs);
    run.unseen = inner_.unseen(run.pairs, expected.seen->values);
  } else {
    run.failed = pairs.error().message;
  }
  return run;
}

Result<std::vector<ComparedPair>> Twins::compare(const Model::SeenRun& a, const Model::SeenRun& b) const {
  ASSIGN_OR_RETURN(auto diffs, compareOutputs(a.outputs, b.outputs));
  std::vector<ComparedPair> pairs;
  for (size_t i = 0; i < diffs.size(); ++i) {
    pairs.push_back({a.outputs[i].view, b.outputs[i].view, diffs[i], i});
  }
  const bool blind = std::ranges::all_of(diffs, [](const TensorDiff& diff) { return diff.maxAbs == 0; });
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
    ASSIGN_OR_RETURN(const auto ran, runOn(**perturbed, inputs, task, inner_.ofA()));
    if (!ran.seen) continue;
    const Captured values = captured(inner_.ofA(), ran.seen->values);
    for (ComparedPair& pair : pairs) {
      if (pair.farRows.empty()) continue;
      if (pair.site != nullptr) {
        const auto other = comparable(*pair.site, values, pair.alignment);
        if (other) includeNoise(pair.a, *other, pair.farRows);
      } else if (pair.output < ran.seen->outputs.size()) {
        includeNoise(pair.a, ran.seen->outputs[pair.output].view, pair.farRows);
      }
    }
  }
  return {};
}

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Sizes that the model's norms have: an input of one number may be one of them.
std::vector<int64_t> widthsOf(const graph::Graph& graph, const std::vector<analysis::LayerNorm>& norms) {
  std::vector<int64_t> widths;
  for (const analysis::LayerNorm& norm : norms) {
    const auto& shape = graph.value(norm.input).shape;
    const auto rank = static_cast<int64_t>(shape ? shape->size() : 0);
    for (const int64_t axis : norm.axes) {
      if (axis < rank && axis >= -rank) widths.push_back((*shape)[static_cast<size_t>(axis < 0 ? axis + rank : axis)]);
    }
  }
  std::ranges::sort(widths);
  widths.erase(std::ranges::unique(widths).begin(), widths.end());
  return widths;
}

class AlgebraProof {
 public:
  AlgebraProof(Twins twins, const ChangeUnderTest& change, const Tensors& sample, const VerifyOptions& options,
               const Task& task)
      : twins_(std::move(twins)),
        change_(change),
        sample_(sample),
        options_(options),
        task_(task),
        widths_(widthsOf(change.original.graph(), change.norms)) {}

  Result<AlgebraOutcome> prove() {
    outcome_.limit = options_.algebraLimit;
    RETURN_IF_ERROR(compareOnSample());
    if (!outcome_.worst) return std::move(outcome_);
    RETURN_IF_ERROR(compareAtOtherSizes());
    RETURN_IF_ERROR(compareOnDraws());
    RETURN_IF_ERROR(compareOnOthers(otherNumbers(sample_, widths_)));
    RETURN_IF_ERROR(compareAtOtherRanks());
    RETURN_IF_ERROR(lookForNarrowOps());
    if (outcome_.refuted) nameDiverging();
    outcome_.hasExact = true;
    return std::move(outcome_);
  }

 private:
  Status compareOnSample() {
    task_.report("verifying in float64", 0.1);
    auto run = compareOn(sample_);
    if (!run) return tl::unexpected(run.error());
    if (twins_.looksInside() && !(run->refused.empty() && run->failed.empty())) {
      // Perhaps it only cannot be looked into.
      twins_.lookAtOutputsOnly();
      outcome_ = AlgebraOutcome();
      outcome_.limit = options_.algebraLimit;
      run = compareOn(sample_);
      if (!run) return tl::unexpected(run.error());
    }
    narrowOp_ = std::move(run->narrowOp);
    outcome_.unseen = run->unseen;
    keep(sample_, *run);
    if (run->refused.empty()) return {};
    RETURN_IF_ERROR(unlessMemoryWanted(run->refused));
    outcome_.reason = "the float64 copy does not run: " + run->refused;
    return {};
  }

  Status compareOnOthers(const std::vector<Tensors>& sets) {
    for (size_t i = 0; i < sets.size() && !outcome_.refuted; ++i) {
      task_.report("verifying in float64");
      RETURN_IF_ERROR(compareOn(sets[i]));
    }
    return {};
  }

  Status compareAtOtherSizes() {
    task_.report("verifying at other sizes", 0.4);
    return tryOtherSizes(shapesOf(sample_), options_.freeAxes, [&](const auto& shapes) -> Result<bool> {
      if (outcome_.refuted) return true;
      const auto inputs = drawnAt(shapes);
      if (!inputs) return false;
      ASSIGN_OR_RETURN(const auto taken, compareOnDrawn(*inputs));
      if (!taken) return false;
      outcome_.otherSize = true;
      ++drawn_;
      return true;
    });
  }

  // Returns whether the original takes them.
  Result<bool> compareOnDrawn(const Tensors& inputs) {
    return compareOn(inputs).map([&](const TwinRun& run) {
      keep(inputs, run);
      return run.refused.empty();
    });
  }

  void keep(const Tensors& inputs, const TwinRun& run) {
    int64_t bytes = 0;
    for (const ComparedPair& pair : run.pairs) bytes += graph::byteCount(pair.a);
    auto& kept = outcome_.inputs;
    if (run.pairs.empty() || (kept.size() > 1 && bytes >= fewestBytes_)) return;
    fewestBytes_ = bytes;
    kept.resize(std::min<size_t>(kept.size(), 1));
    kept.push_back(inputs);
    outcome_.outputs.resize(kept.size() - 1);
    outcome_.outputs.push_back(run.outputs);
  }

  // Inputs of other sizes have other values as well: only what is wanting of those is drawn at the sample's sizes.
  Status compareOnDraws() {
    for (uint64_t seed = options_.seed; drawn_ < options_.randomDraws && !outcome_.refuted; ++seed, ++drawn_) {
      ASSIGN_OR_RETURN(const auto inputs, drawLike(sample_, shapesOf(sample_), seed));
      RETURN_IF_ERROR(compareOnDrawn(inputs));
    }
    return {};
  }

  // Sizes that the fold requires to be 1 are not tried otherwise.
  [[nodiscard]] bool keepsOnes(const std::vector<graph::Shape>& shapes) const {
    for (size_t i = 0; i < std::min(shapes.size(), options_.ones.size()); ++i) {
      for (const int fromLast : options_.ones[i]) {
        const auto at = static_cast<size_t>(fromLast);
        if (at <= shapes[i].size() && shapes[i][shapes[i].size() - at] != 1) return false;
      }
    }
    return true;
  }

  [[nodiscard]] std::optional<Tensors> drawnAt(const std::vector<graph::Shape>& shapes) const {
    if (!keepsOnes(shapes)) return std::nullopt;
    // Other ones than at the sample's sizes.
    const int others = options_.randomDraws + drawn_;
    auto drawn = drawLike(sample_, shapes, options_.seed + static_cast<uint64_t>(others));
    return drawn ? std::optional(std::move(*drawn)) : std::nullopt;
  }

  // Returns for each input whether the file leaves open how many axes it has.
  [[nodiscard]] std::vector<bool> openRanks() const {
    const graph::Graph& graph = change_.original.graph();
    std::vector<bool> open;
    if (graph.inputs().size() != sample_.size() || !canTryOtherRanks(change_.original)) return open;
    for (const graph::ValueId input : graph.inputs()) open.push_back(!graph.value(input).declared);
    return open;
  }

  // Few users give such inputs: a fold that differs there holds for the others, and ranksMatter records it.
  Status compareAtOtherRanks() {
    std::vector<bool> open = openRanks();
    SizeTrials trials = otherRanks(shapesOf(sample_), open);
    // Integers are indices: there are no channels behind them.
    for (size_t i = 0; i < open.size(); ++i) open[i] = open[i] && graph::isFloat(sample_[i].view.dtype);
    std::ranges::move(withChannels(shapesOf(sample_), open, widths_), std::back_inserter(trials));
    for (const auto& shapes : trials) {
      if (outcome_.refuted) return {};
      const auto inputs = drawnAt(shapes);
      if (!inputs) continue;
      const AlgebraOutcome before = outcome_;
      RETURN_IF_ERROR(compareOn(*inputs));
      if (!outcome_.refuted || options_.strictRanks) continue;
      outcome_ = before;
      outcome_.ranksMatter = true;
    }
    return {};
  }

  // Runs one set of inputs through both twins. Inputs that the original itself refuses (an id out of range) show
  // nothing and do not count.
  Result<TwinRun> compareOn(const Tensors& inputs) {
    auto run = twins_.run(inputs, task_);
    if (!run || !run->refused.empty()) return run;
    ++outcome_.runs;
    if (!run->failed.empty()) {
      outcome_.worst = {kInfinity, kInfinity};
      outcome_.reason = run->failed;
      refuteOn(inputs);
    } else if (const Status done = judge(run->pairs, inputs); !done) {
      return tl::unexpected(done.error());
    }
    return run;
  }

  void refuteOn(const Tensors& inputs) {
    outcome_.refuted = true;
    refutedOn_ = inputs;
  }

  Status judge(std::vector<ComparedPair>& pairs, const Tensors& inputs) {
    bool doubtful = false;
    for (ComparedPair& pair : pairs) {
      if (pair.diff.rowRel <= options_.algebraLimit) continue;
      ASSIGN_OR_RETURN(auto rows, rowsApart(pair.a, pair.b, options_.algebraLimit));
      pair.farRows = std::move(rows);
      doubtful = true;
    }
    if (doubtful) {
      task_.report("measuring the noise of float64");
      RETURN_IF_ERROR(twins_.measureNoise(pairs, inputs, options_, task_));
    }
    if (!outcome_.worst) outcome_.worst.emplace();
    for (const ComparedPair& pair : pairs) {
      include(pair, inputs);
      if (outcome_.refuted) break;
    }
    return {};
  }

  void include(const ComparedPair& pair, const Tensors& inputs) {
    outcome_.blind = outcome_.blind && (pair.site != nullptr || pair.diff.maxAbs == 0);
    outcome_.telling = outcome_.telling || (pair.counts && pair.diff.telling);
    double noise = 0, most = 1;
    // A norm divides by its input's deviation: what it makes of equal numbers is 0 but for rounding, beside 1.
    const double leastScale = pair.site != nullptr && pair.site->kind == SiteKind::NormOutput ? 1 : 0;
    for (const FarRow& row : pair.farRows) {
      const double scale = std::max(leastScale, row.scale);
      const double allowed = std::max(options_.algebraLimit * scale, options_.floorFactor * row.noise);
      noise = std::max(noise, row.noise);
      if (row.apart <= most * allowed) continue;
      most = row.apart / allowed;
      outcome_.worst = {row.apart, row.apart / row.scale};
      outcome_.limit = row.scale > 0 ? allowed / row.scale : options_.algebraLimit;
      refuteOn(inputs);
    }
    if (outcome_.refuted && pair.site != nullptr && pair.site->kind == SiteKind::NormOutput) {
      outcome_.firstDiverging = pair.site->name;
    }
    const bool measurable = std::isfinite(pair.diff.maxRel);  // else it is noise beside exact zeros
    if (outcome_.refuted || !pair.counts || !measurable) return;
    outcome_.worst->include(pair.diff);
    if (noise > 0) outcome_.limit = std::max(outcome_.limit, options_.floorFactor * noise / pair.diff.scale);
  }

  Status lookForNarrowOps() {
    task_.report("checking that everything ran in float64", 0.45);
    const auto op = narrowOp_ ? Result<std::string>(*narrowOp_) : twins_.changed().narrowOp(sample_, task_);
    RETURN_IF_ERROR(task_.check());
    std::string reason;
    if (!op) {
      RETURN_IF_ERROR(unlessMemoryWanted(op.error().message));
      reason = "it could not be checked that everything ran in float64: " + op.error().message;
    } else if (!op->empty()) {
      reason = *op + " computes in less than float64";
    }
    if (outcome_.reason.empty()) outcome_.reason = reason;
    return {};
  }

  void nameDiverging() {
    const std::string first =
        firstDiverging(twins_.original(), change_.norms, twins_.changed(), refutedOn_, outcome_.limit, task_);
    if (!first.empty()) outcome_.firstDiverging = first;
  }

  Twins twins_;
  const ChangeUnderTest& change_;
  const Tensors& sample_;
  const VerifyOptions& options_;
  const Task& task_;
  std::vector<int64_t> widths_;
  Tensors refutedOn_;
  std::optional<std::string> narrowOp_;  // on the sample, where its run recorded it
  int64_t fewestBytes_ = 0;              // The inputs that were kept last give as many.
  int drawn_ = 0;                        // sets of other values that were compared
  AlgebraOutcome outcome_;
};

}  // namespace

Result<AlgebraOutcome> proveAlgebra(const ChangeUnderTest& change, const InnerSites& inner, const Tensors& sample,
                                    const VerifyOptions& options, const Task& task) {
  task.report("copying the model to float64", 0);
  auto twins = Twins::make(change, inner, task);
  if (twins) return AlgebraProof(std::move(*twins), change, sample, options, task).prove();
  RETURN_IF_ERROR(task.check());
  RETURN_IF_ERROR(unlessMemoryWanted(twins.error().message));
  AlgebraOutcome impossible;
  impossible.reason = twins.error().message;
  return impossible;
}

}  // namespace normlens::run
