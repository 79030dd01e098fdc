#include "core/run/verify.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/run/deciding_values.h"
#include "core/run/draw.h"
#include "core/run/input_spec.h"
#include "core/run/norm_diff.h"
#include "core/run/other_sizes.h"
#include "core/run/tensors.h"

namespace normlens::run {
namespace {

using formats::Model;
using formats::Tensors;

constexpr Worst kBeyondMeasure{std::numeric_limits<double>::infinity(), std::numeric_limits<double>::infinity()};

// A comparison of a model with the original on one set of inputs.
struct Compared {
  std::string error;  // of the other model; a plain sentence
  std::vector<TensorDiff> outputs;
  [[nodiscard]] Worst worst() const { return error.empty() ? worstOf(outputs) : kBeyondMeasure; }
};

// What a model itself makes of the inputs. Only a cancelled task is an error here.
struct Ran {
  std::optional<Tensors> outputs;  // nullopt: it failed
  std::string error;               // a plain sentence
};
Result<Ran> runOn(const Model& model, const Tensors& inputs, const Task& task) {
  auto outputs = model.run(inputs, task);
  if (const Status running = task.check(); !running) return tl::unexpected(running.error());
  if (!outputs) return Ran{.outputs = std::nullopt, .error = outputs.error().message};
  return Ran{.outputs = std::move(*outputs), .error = {}};
}

// Only a cancelled task is an error here.
Result<Compared> compareWith(const Tensors& expected, const Model& other, const Tensors& inputs, const Task& task) {
  const auto got = runOn(other, inputs, task);
  if (!got) return tl::unexpected(got.error());
  if (!got->outputs)
    return Compared{.error = "the folded model fails where the original runs: " + got->error, .outputs = {}};
  auto outputs = compareOutputs(expected, *got->outputs);
  if (!outputs) return Compared{.error = outputs.error().message, .outputs = {}};
  return Compared{.error = {}, .outputs = std::move(*outputs)};
}

// The sample and `draws` others of the same size.
Result<std::vector<Tensors>> inputSets(const Tensors& sample, int draws, uint64_t seed) {
  std::vector<Tensors> sets{sample};
  for (int i = 0; i < draws; ++i) {
    auto drawn = drawLike(sample, shapesOf(sample), seed + static_cast<uint64_t>(i));
    if (!drawn) return tl::unexpected(drawn.error());
    sets.push_back(std::move(*drawn));
  }
  return sets;
}

class Verifier {
 public:
  Verifier(const ChangeUnderTest& change, const Tensors& sample, const VerifyOptions& options, const Task& task)
      : change_(change), sample_(sample), options_(options), task_(task) {}

  Result<Verification> verify() {
    if (const Status done = proveAlgebra(); !done) return tl::unexpected(done.error());
    if (const Status done = compareFiles(); !done) return tl::unexpected(done.error());
    decide();
    return std::move(result_);
  }

 private:
  // ---- algebra
  Status proveAlgebra() {
    task_.report("copying the model to float64", 0);
    const auto twin = change_.original.toFloat64();
    if (!twin) return noAlgebra(twin.error().message);
    if (const Status running = task_.check(); !running) return running;
    const auto foldedTwin = change_.change(**twin);
    if (!foldedTwin) return noAlgebra("the change cannot be made to a float64 copy: " + foldedTwin.error().message);
    if (const Status done = compareTwins(**twin, **foldedTwin); !done || !result_.algebra) return done;
    if (const Status done = lookForNarrowOps(**foldedTwin); !done) return done;
    if (!algebraPasses()) nameDiverging(**twin, **foldedTwin, options_.algebraLimit);
    return {};
  }

  Status noAlgebra(std::string reason) {
    if (const Status running = task_.check(); !running) return running;
    result_.algebraReason = std::move(reason);
    return {};
  }

  Status compareTwins(const Model& twin, const Model& foldedTwin) {
    const auto sets = inputSets(sample_, options_.randomDraws, options_.seed);
    if (!sets) return tl::unexpected(sets.error());
    for (size_t i = 0; i < sets->size(); ++i) {
      task_.report("verifying in float64", 0.1 + 0.3 * static_cast<double>(i) / static_cast<double>(sets->size()));
      const auto expected = runOn(twin, (*sets)[i], task_);
      if (!expected) return tl::unexpected(expected.error());
      if (!expected->outputs && i == 0) return noAlgebra("the float64 copy does not run: " + expected->error);
      if (!expected->outputs) continue;  // a draw that the original itself refuses (an id out of range) says nothing
      if (const Status done = includeAlgebra(*expected->outputs, foldedTwin, (*sets)[i]); !done) return done;
    }
    if (const Status done = compareDecidingValues(twin, foldedTwin); !done) return done;
    return compareAtOtherSizes(twin, foldedTwin);
  }

  Status compareAtOtherSizes(const Model& twin, const Model& foldedTwin) {
    task_.report("verifying at other sizes", 0.4);
    for (const SizeTrials& trials : otherSizes(shapesOf(sample_), options_.freeAxes)) {
      if (const Status done = compareAtOneOf(trials, twin, foldedTwin); !done) return done;
    }
    return {};
  }

  // The first size that the model takes.
  Status compareAtOneOf(const SizeTrials& trials, const Model& twin, const Model& foldedTwin) {
    for (const auto& shapes : trials) {
      const auto inputs = drawLike(sample_, shapes, options_.seed);
      if (!inputs) continue;
      const auto expected = runOn(twin, *inputs, task_);
      if (!expected) return tl::unexpected(expected.error());
      if (!expected->outputs) continue;
      result_.secondSize = true;
      return includeAlgebra(*expected->outputs, foldedTwin, *inputs);
    }
    return {};
  }

  Status includeAlgebra(const Tensors& expected, const Model& foldedTwin, const Tensors& inputs) {
    const auto compared = compareWith(expected, foldedTwin, inputs, task_);
    if (!compared) return tl::unexpected(compared.error());
    if (!result_.algebra) result_.algebra.emplace();
    result_.algebra->include(compared->worst());
    if (result_.algebraReason.empty()) result_.algebraReason = compared->error;
    noteTelling(compared->outputs);
    ++result_.algebraRuns;
    return {};
  }

  // Indices that agree, and lists that are empty, may do so by chance: what decides them is compared in their place.
  Status compareDecidingValues(const Model& twin, const Model& foldedTwin) {
    const auto values = decidingValues(change_.original.graph());
    if (values.empty() || !result_.algebra) return {};
    task_.report("comparing what decides the outputs");
    const auto compared = compareValues(twin, change_.norms, values, foldedTwin, sample_, task_);
    if (const Status running = task_.check(); !running) return running;
    if (!compared) return {};
    result_.algebra->include(worstOf(*compared));
    noteTelling(*compared);
    return {};
  }

  void noteTelling(const std::vector<TensorDiff>& diffs) {
    told_ = told_ || std::ranges::any_of(diffs, &TensorDiff::telling);
  }

  Status lookForNarrowOps(const Model& foldedTwin) {
    task_.report("checking that everything ran in float64", 0.45);
    const auto op = foldedTwin.narrowOp(sample_, task_);
    if (const Status running = task_.check(); !running) return running;
    std::string reason;
    if (!op) {
      reason = "it could not be checked that everything ran in float64: " + op.error().message;
    } else if (!op->empty()) {
      reason = *op + " computes in less than float64";
    }
    if (result_.algebraReason.empty()) result_.algebraReason = reason;
    return {};
  }

  [[nodiscard]] bool algebraPasses() const {
    return result_.algebra && result_.algebraReason.empty() && result_.algebra->maxRel <= options_.algebraLimit;
  }

  // ---- file
  Status compareFiles() {
    result_.fileType = change_.original.facts().dtype;
    const auto sets = inputSets(sample_, options_.fileDraws, options_.seed);
    if (!sets) return tl::unexpected(sets.error());
    for (const Tensors& inputs : *sets) {
      task_.report("comparing in " + std::string(graph::dtypeName(result_.fileType)), 0.5);
      auto expected = runOn(change_.original, inputs, task_);
      if (!expected) return tl::unexpected(expected.error());
      if (!expected->outputs) {
        if (!references_.empty()) continue;
        result_.fileReason = "the model does not run on these inputs: " + expected->error;
        return {};
      }
      if (const Status done = includeFile(*expected->outputs, inputs); !done) return done;
      references_.push_back({inputs, std::move(*expected->outputs)});
    }
    if (const Status done = measureNoise(); !done) return done;
    tellDecisive();
    if (!filePasses() && algebraPasses()) {
      if (const Status done = measureRounding(); !done) return done;
      tellDecisive();
    }
    if (!filePasses() && result_.firstDiverging.empty()) {
      nameDiverging(change_.original, change_.changed, options_.floorFactor * result_.noiseFloor);
    }
    return {};
  }

  Status includeFile(const Tensors& expected, const Tensors& inputs) {
    auto compared = compareWith(expected, change_.changed, inputs, task_);
    if (!compared) return tl::unexpected(compared.error());
    if (!result_.file) result_.file.emplace();
    result_.file->include(compared->worst());
    includeEach(compared->outputs, apart_);
    noteTelling(compared->outputs);
    if (result_.fileReason.empty()) result_.fileReason = compared->error;
    if (references_.empty()) result_.outputs = std::move(compared->outputs);
    return {};
  }

  static void includeEach(const std::vector<TensorDiff>& outputs, std::vector<Worst>& worst) {
    if (worst.size() < outputs.size()) worst.resize(outputs.size());
    for (size_t i = 0; i < outputs.size(); ++i) worst[i].include(outputs[i]);
  }

  Status measureNoise() {
    result_.noiseFloor = options_.floorEpsilons * machineEpsilon(result_.fileType);
    noise_.assign(apart_.size(), Worst{.maxAbs = 0, .maxRel = result_.noiseFloor});
    for (int copy = 0; copy < options_.perturbedCopies; ++copy) {
      task_.report("measuring the noise of rounding", 0.55 + 0.45 * copy / std::max(1, options_.perturbedCopies));
      if (const Status running = task_.check(); !running) return running;
      const auto perturbed = change_.original.perturbed(options_.seed + static_cast<uint64_t>(copy));
      if (!perturbed) return {};  // nothing to perturb: the floor stays at the type's own
      for (const Reference& original : references_) {
        const auto compared = compareWith(original.outputs, **perturbed, original.inputs, task_);
        if (!compared) return tl::unexpected(compared.error());
        // A copy that overflows says nothing about rounding.
        if (std::isfinite(compared->worst().maxRel)) includeEach(compared->outputs, noise_);
      }
    }
    return {};
  }

  // How far the original is from its float64 copy, where that is no more than rounding.
  Status measureRounding() {
    task_.report("measuring the rounding of sums");
    const auto twin = change_.original.toFloat64();
    if (const Status running = task_.check(); !running) return running;
    if (!twin) return {};
    std::vector<Worst> rounding;
    for (const Reference& original : references_) {
      const auto compared = compareWith(original.outputs, **twin, original.inputs, task_);
      if (!compared) return tl::unexpected(compared.error());
      includeEach(compared->outputs, rounding);
    }
    for (size_t i = 0; i < rounding.size() && i < noise_.size(); ++i) {
      if (rounding[i].maxRel <= options_.mostRounding) noise_[i].include(rounding[i]);
    }
    return {};
  }

  // Each output has the floor of its own noise: an index that flips would excuse whatever the others are off by. Told
  // is the output that is farthest above its floor; if that is within the limit, rather one whose floor says something.
  void tellDecisive() {
    constexpr double kMeaningful = 0.1;  // of a floor: with more, the output is noise all through
    constexpr double kOnlyIfNoOther = -0.5;
    double most = -1;
    for (size_t i = 0; i < apart_.size() && i < noise_.size(); ++i) {
      const double floor = noise_[i].maxRel;
      double above = apart_[i].maxRel / floor;
      if (above <= options_.floorFactor && floor > kMeaningful) above = kOnlyIfNoOther;
      if (above <= most) continue;
      most = above;
      result_.file = apart_[i];
      result_.noiseFloor = floor;
    }
  }

  [[nodiscard]] bool filePasses() const {
    return result_.file && result_.fileReason.empty() &&
           result_.file->maxRel <= options_.floorFactor * result_.noiseFloor;
  }

  // ---- verdict
  void nameDiverging(const Model& original, const Model& folded, double limit) {
    task_.report("looking for the first norm that differs");
    const auto norms = compareNorms(original, change_.norms, folded, sample_, task_);
    if (norms) result_.firstDiverging = firstDiverging(*norms, limit);
  }

  void decide() {
    const auto vacuous = std::ranges::find_if(result_.outputs, &TensorDiff::vacuous);
    const bool refuted = (result_.file && !filePasses()) || (result_.algebra && !algebraPasses());
    if (refuted) {
      result_.exact = false;
    } else if (vacuous != result_.outputs.end()) {
      result_.fileReason = "'" + vacuous->name + "' is not finite anywhere, in the original as in the folded model, " +
                           "which proves nothing";
    } else if (result_.file && !told_) {
      result_.fileReason =
          "no output holds a floating-point number on these inputs, nor could what decides them be "
          "compared: nothing is proved";
    } else if (result_.file) {
      result_.exact = true;  // where float64 is impossible the files alone decide
    }
  }

  const ChangeUnderTest& change_;
  const Tensors& sample_;
  const VerifyOptions& options_;
  const Task& task_;
  Verification result_;
  struct Reference {
    Tensors inputs, outputs;  // of the original, in the file's type
  };
  std::vector<Reference> references_;
  std::vector<Worst> apart_, noise_;  // of the files, by output: of the change, and of rounding
  bool told_ = false;                 // floating-point numbers were compared
};

// Norms outside of branches and loops run whenever the model does.
std::vector<std::string> replacedNormsNotRun(const FoldUnderTest& fold, const Tensors& sample, const Task& task) {
  const graph::Graph& graph = fold.original.graph();
  std::vector<const analysis::LayerNorm*> norms;
  std::vector<graph::ValueId> outputs;
  for (const fold::Edit& edit : fold.plan.edits) {
    const auto* replace = std::get_if<fold::ReplaceNorm>(&edit);
    if (replace == nullptr) continue;
    const auto& norm = fold.norms.at(static_cast<size_t>(replace->norm));
    if (graph.node(norm.node).block == 0) continue;
    norms.push_back(&norm);
    outputs.push_back(norm.output);
  }
  if (norms.empty()) return {};
  const auto captured = fold.original.runCapturing(sample, outputs, task);
  std::vector<std::string> names;
  for (size_t i = 0; captured && i < norms.size(); ++i) {
    if ((*captured)[i].view.dtype == graph::DType::Unknown) names.push_back(norms[i]->name);
  }
  return names;
}

}  // namespace

Result<Verification> verifyFold(const FoldUnderTest& fold, const Tensors& sample, const VerifyOptions& options,
                                const Task& task) {
  const auto apply = [&](const Model& twin) { return twin.apply(fold.plan, fold.norms, options.flavour, task); };
  auto verification = verifyChange({fold.original, fold.folded, apply, fold.norms}, sample, options, task);
  if (verification) verification->notRun = replacedNormsNotRun(fold, sample, task);
  return verification;
}

Result<Verification> verifyChange(const ChangeUnderTest& change, const Tensors& sample, const VerifyOptions& options,
                                  const Task& task) {
  return Verifier(change, sample, options, task).verify();
}

}  // namespace normlens::run
