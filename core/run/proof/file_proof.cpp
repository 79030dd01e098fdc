#include "core/run/proof/file_proof.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <string>

#include "core/base/formatted.h"
#include "core/run/compare/compare_models.h"
#include "core/run/inputs/draw.h"
#include "core/run/proof/inner_sites.h"
#include "core/run/proof/trial_run.h"
#include "core/run/proof/verify.h"
#include "core/run/tensors.h"

namespace normlens::run {
namespace {

using formats::Tensors;

// The range's part of a files' proof (verify.h). Centering may double a number (|x - mean| <= 2 max |x|), and float16
// ends at 65504: a changed model can overflow where the original does not, at inputs that no sample shows.
constexpr double kLargest = 65504;  // of float16
constexpr double kRight = 0.1;      // of an error of the original: with more, it is not rounding alone
constexpr double kMargin = 1.6;     // of the two that centering may take: what rounding and random weights may
constexpr double kNearby = 4;       // other inputs may be so many times as large as the sample: there is no margin

double largestOf(const Tensors& tensors) {
  double largest = 0;
  for (const auto& tensor : tensors) {
    if (!graph::isFloat(tensor.view.dtype)) continue;
    for (const double value : graph::toDoubles(tensor.view).value_or(std::vector<double>{})) {
      if (!std::isnan(value)) largest = std::max(largest, std::abs(value));
    }
  }
  return largest;
}

// Runs at inputs that are `factor` times the sample's.
class Range {
 public:
  Range(const ChangeUnderTest& change, const formats::Model& wide, const Tensors& sample, const Task& task)
      : change_(change), wide_(wide), sample_(sample), task_(task) {}

  // Returns the error of a model against the original's copy in a wider type, relative, the worst of the outputs:
  // infinite where it is not finite, or does not run. An overflow inside can still give finite numbers.
  Result<double> errorOf(const formats::Model& model, double factor) const {
    const auto inputs = scaledLike(sample_, factor);
    if (!inputs) return tl::unexpected(inputs.error());
    const auto right = outputsOf(wide_, *inputs);
    if (!right) return tl::unexpected(right.error());
    const auto outputs = outputsOf(model, *inputs);
    if (!outputs) return tl::unexpected(outputs.error());
    double worst = right->empty() || outputs->empty() ? std::numeric_limits<double>::infinity() : 0;
    for (const TensorDiff& diff : compareOutputs(*right, *outputs).value_or(std::vector<TensorDiff>{})) {
      worst = std::max(worst, diff.maxRel);
    }
    return worst;
  }

  // Returns whether the inputs of its norms are in float16's range: some runtimes compute in float32 between two ops.
  Result<bool> staysInRange(double factor) const {
    const auto inputs = scaledLike(sample_, factor);
    if (!inputs) return tl::unexpected(inputs.error());
    std::vector<graph::ValueId> values;
    for (const auto& norm : change_.norms) values.push_back(norm.input);
    const auto ran = runOn(wide_, *inputs, task_, values);
    if (!ran) return tl::unexpected(ran.error());
    return ran->seen && largestOf(ran->seen->values) < kLargest;
  }

  // The largest factor up to `most`, to a tenth, where they are; 1 where they never are.
  Result<double> reach(double most) const {
    double low = 0, high = std::log2(most);  // of the factor
    constexpr double kNear = 0.14;           // 2^0.14 = 1.1
    for (double exponent = high; high - low > kNear; exponent = (low + high) / 2) {
      const auto inRange = staysInRange(std::exp2(exponent));
      if (!inRange) return tl::unexpected(inRange.error());
      (*inRange ? low : high) = exponent;
    }
    return std::exp2(low);
  }

  // The factor at which the changed model overflows and the original is as right as with the sample.
  Result<std::optional<double>> overflow() const {
    const double largest = largestOf(sample_);
    if (largest == 0) return std::nullopt;
    const auto most = reach(std::max(1.0, kLargest / largest));
    if (!most) return tl::unexpected(most.error());
    const double factor = std::max(*most / kMargin, std::min(*most, kNearby));
    if (factor <= 1) return std::nullopt;  // the sample itself shows what there is to see
    const auto changed = errorOf(change_.changed, factor);
    if (!changed) return tl::unexpected(changed.error());
    if (std::isfinite(*changed)) return std::nullopt;
    const auto usual = errorOf(change_.original, 1), there = errorOf(change_.original, factor);
    if (!usual || !there) return tl::unexpected((usual ? there : usual).error());
    return *there <= std::max(kRight, *usual) ? std::optional(factor) : std::nullopt;
  }

 private:
  Result<Tensors> outputsOf(const formats::Model& model, const Tensors& inputs) const {
    auto ran = runOn(model, inputs, task_);
    if (!ran) return tl::unexpected(ran.error());
    if (const Status enough = unlessMemoryWanted(ran->error); !enough) return tl::unexpected(enough.error());
    return ran->seen ? std::move(ran->seen->outputs) : Tensors();
  }

  const ChangeUnderTest& change_;
  const formats::Model& wide_;
  const Tensors& sample_;
  const Task& task_;
};

// The original is run on the sample, its floats multiplied by as much as it takes before it leaves its copy in float32.
// Returns a sentence where the changed model overflows at far less than that; empty: it does not, or the files compute
// in a type of a wider range, or the sample has no floats. Errors: as runOn().
Result<std::string> overflowsEarlier(const ChangeUnderTest& change, const Tensors& sample, const Task& task) {
  const auto& facts = change.original.facts();
  if (facts.dtype != graph::DType::Float16 || largestOf(sample) == 0) return {};
  task.report("comparing the ranges of float16");
  const auto wide = change.original.converted(graph::DType::Float32);
  if (!wide) return {};
  constexpr int kSets = 3;  // centering may shrink what is largest in one of them
  const auto sets = batchesLike(sample, kSets, 1);
  if (!sets) return tl::unexpected(sets.error());
  for (size_t i = 0; i < 2 * sets->size(); ++i) {
    // Numbers of one sign add up in sums where those of a sample may cancel.
    const auto inputs = scaledLike((*sets)[i / 2], 1, i % 2 == 0 ? Sign::Own : Sign::Positive);
    if (!inputs) return tl::unexpected(inputs.error());
    const auto factor = Range(change, **wide, *inputs, task).overflow();
    if (!factor) return tl::unexpected(factor.error());
    if (!*factor) continue;
    return formatted(
        "float16 ends at 65504: with inputs %.3g times as large the original is right and the folded model "
        "gives numbers that are not finite",
        **factor);
  }
  return {};
}

constexpr double kMostRounding = 0.1;  // of an original's own error, relative: with more, it draws random numbers
constexpr double kUnbounded = std::numeric_limits<double>::infinity();

// One output on one set of inputs.
struct Judged {
  TensorDiff diff;
  std::vector<RowErrors> rows;  // those that differ
  bool byExact = false;         // rows hold how far the two are from exact numbers
  double noise = 0;             // how far the original moves with its weights, absolute
};

struct Trial {
  Tensors inputs, original, changed;
  std::vector<ComparedPair> inner{};  // their values come before the outputs
  std::vector<Judged> outputs{};
};

// RowJudgment decides on a row, in absolute numbers: it passes where error <= factor * floor.
struct RowJudgment {
  double error = 0, floor = 0;
};

class FileProof {
 public:
  FileProof(const ChangeUnderTest& change, const InnerSites& inner, const VerifyOptions& options, const Task& task)
      : change_(change), options_(options), task_(task), type_(change.original.facts().dtype), inner_(inner) {}

  Result<FileOutcome> compare(const Tensors& sample, const AlgebraOutcome& algebra) {
    const bool blind = algebra.worst && algebra.blind;
    inner_ = inner_.between(change_, change_.original.graph(), change_.changed.graph(),
                            blind ? InnerSites::Which::All : InnerSites::Which::OfHidden);
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
    decide();
    if (outcome_.passes) {
      const auto overflow = overflowsEarlier(change_, sample, task_);
      if (!overflow) return tl::unexpected(overflow.error());
      if (!overflow->empty()) refute(*overflow);
    }
    return std::move(outcome_);
  }

 private:
  Status compareOn(const ExactRun& set) {
    const auto& [inputs, exact] = set;
    auto expected = runOn(change_.original, inputs, task_, inner_.ofA());
    if (!expected) return tl::unexpected(expected.error());
    if (!expected->seen && mayDropSites()) return compareOn(set);
    if (!expected->seen) {
      if (!trials_.empty()) return {};
      if (const Status enough = unlessMemoryWanted(expected->error); !enough) return enough;
      outcome_.reason = "the model does not run on these inputs: " + expected->error;
      return {};
    }
    auto got = runOn(change_.changed, inputs, task_, inner_.ofB());
    if (!got) return tl::unexpected(got.error());
    if (const Status enough = unlessMemoryWanted(got->error); !enough) return enough;
    if (!got->seen && mayDropSites()) return compareOn(set);
    if (!got->seen) return refute(failsWhereOriginalRuns(*got));
    auto inner = lookInside(*expected->seen, *got->seen);
    auto diffs = compareOutputs(expected->seen->outputs, got->seen->outputs);
    if (!diffs) return refute(diffs.error().message);
    Trial trial{inputs, std::move(expected->seen->outputs), std::move(got->seen->outputs), std::move(inner)};
    for (size_t i = 0; i < diffs->size(); ++i) {
      const TensorDiff& diff = (*diffs)[i];
      outcome_.telling = outcome_.telling || diff.telling;
      const auto judged = judge(trial, i, diff, exact);
      if (!judged) return tl::unexpected(judged.error());
      trial.outputs.push_back(*judged);
    }
    if (trials_.empty()) outcome_.outputs = std::move(*diffs);
    trials_.push_back(std::move(trial));
    return {};
  }

  // exact: the outputs of the original's float64 copy; may be empty.
  [[nodiscard]] static Result<Judged> judge(const Trial& trial, size_t output, const TensorDiff& diff,
                                            const Tensors& exact) {
    const graph::TensorView &a = trial.original[output].view, &b = trial.changed[output].view;
    // The float64 run of a float64 file is the original itself: it does not show the original's own error.
    if (diff.telling && output < exact.size() && exact[output].view.dtype != a.dtype) {
      if (auto rows = rowErrors(a, b, &exact[output].view)) return Judged{diff, std::move(*rows), true};
    }
    return rowErrors(a, b, nullptr).map([&](std::vector<RowErrors> rows) { return Judged{diff, std::move(rows)}; });
  }

  // Perhaps a model only cannot be looked into.
  bool mayDropSites() {
    const bool looks = trials_.empty() && !inner_.ofA().empty();
    if (looks) inner_.dropSites();
    return looks;
  }

  // Values that show norms hidden by the outputs are judged as outputs are.
  std::vector<ComparedPair> lookInside(formats::Model::SeenRun& original, formats::Model::SeenRun& changed) {
    auto pairs = inner_.compare(original.values, changed.values);
    outcome_.unseen = inner_.unseen(pairs, original.values);
    inner_.append(pairs, original);
    for (const ComparedPair& pair : pairs) changed.outputs.push_back({pair.site->name, pair.b});
    return pairs;
  }

  Status refute(std::string reason) {
    outcome_.worst = {kUnbounded, kUnbounded};
    outcome_.passes = false;
    outcome_.reason = std::move(reason);
    return {};
  }

  // Each copy can only raise the noise: where all is within its limit, or no noise would bring it there, no more are
  // run.
  Status measureNoise() {
    for (int copy = 0; copy < options_.perturbedCopies && needsNoise(); ++copy) {
      task_.report("measuring the noise of rounding", 0.55 + 0.45 * copy / std::max(1, options_.perturbedCopies));
      if (const Status running = task_.check(); !running) return running;
      const auto perturbed = change_.original.perturbed(options_.seed + static_cast<uint64_t>(copy));
      // Nothing to perturb: the floor stays at the type's own.
      if (!perturbed) return unlessMemoryWanted(perturbed.error().message);
      for (Trial& trial : trials_) {
        if (!needsNoise(trial)) continue;
        auto ran = runOn(**perturbed, trial.inputs, task_, inner_.ofA());
        if (!ran) return tl::unexpected(ran.error());
        if (const Status enough = unlessMemoryWanted(ran->error); !enough) return enough;
        if (!ran->seen) continue;
        inner_.append(trial.inner, *ran->seen);
        includeNoise(trial, ran->seen->outputs);
      }
    }
    return {};
  }

  static void includeNoise(Trial& trial, const Tensors& others) {
    for (size_t i = 0; others.size() == trial.outputs.size() && i < others.size(); ++i) {
      Judged& output = trial.outputs[i];
      const auto rows = rowErrors(trial.original[i].view, trial.changed[i].view, &others[i].view);
      if (!rows) continue;
      for (const RowErrors& row : *rows) {
        // A copy that overflows shows nothing about rounding.
        if (std::isfinite(row.a)) output.noise = std::max(output.noise, row.a);
      }
    }
  }

  [[nodiscard]] bool needsNoise(const Trial& trial) const {
    for (size_t i = 0; i < trial.outputs.size(); ++i) {
      const Judged& output = trial.outputs[i];
      const double typical = typicalError(i);
      if (!passes(output, typical, output.noise) && passes(output, typical, kUnbounded)) return true;
    }
    return false;
  }
  [[nodiscard]] bool needsNoise() const {
    return std::ranges::any_of(trials_, [&](const Trial& trial) { return needsNoise(trial); });
  }

  // Returns the error that is excused whatever the original's own error, relative.
  [[nodiscard]] double fewRoundings() const {
    const double few = options_.floorEpsilons * machineEpsilon(type_);
    return type_ == graph::DType::Float64 ? std::max(few, options_.algebraLimit / options_.floorFactor) : few;
  }
  // The same where the original moves less than that with its weights: four epsilons of bfloat16 are 3 %.
  [[nodiscard]] double leastFloor(double scale, double noise) const {
    const double few = fewRoundings() * scale;
    return std::clamp(noise, few / options_.floorEpsilons, few);
  }

  // typical: the median row's own error, relative. What cancels to nothing in exact arithmetic has no scale, and an
  // original that is right there is so by luck.
  [[nodiscard]] RowJudgment judgmentOf(const Judged& output, const RowErrors& row, double typical, double noise) const {
    constexpr double kNothing = 1e-6;
    // Nothing finite becomes infinite, nor the reverse.
    const double error = output.byExact && std::isfinite(row.apart) ? row.b : row.apart;
    if (!output.byExact || row.exact <= kNothing * row.apart)
      return {error, std::max(fewRoundings() * row.scale, noise)};
    const double most = kMostRounding * std::max(row.scale, row.exact);
    return {error, std::max(leastFloor(row.scale, noise), std::min(std::max(row.a, typical * row.around), most))};
  }
  [[nodiscard]] bool passes(const Judged& output, double typical, double noise) const {
    return std::ranges::all_of(output.rows, [&](const RowErrors& row) {
      const RowJudgment judgment = judgmentOf(output, row, typical, noise);
      return judgment.error <= options_.floorFactor * judgment.floor;
    });
  }

  // Returns the median over the rows that differ, over all sets of inputs.
  [[nodiscard]] double typicalError(size_t output) const {
    std::vector<double> errors;
    for (const Trial& trial : trials_) {
      if (output >= trial.outputs.size() || !trial.outputs[output].byExact) continue;
      for (const RowErrors& row : trial.outputs[output].rows) errors.push_back(row.around > 0 ? row.a / row.around : 0);
    }
    if (errors.empty()) return 0;
    const auto middle = errors.begin() + static_cast<std::ptrdiff_t>(errors.size() / 2);
    std::ranges::nth_element(errors, middle);
    return *middle;
  }

  // Each output has its own floor: an index that flips would excuse whatever the others are off by. Reported is the row
  // that is farthest above its limit, or nearest to it.
  void decide() {
    outcome_.passes = true;
    outcome_.worst.emplace();
    outcome_.noiseFloor = fewRoundings();
    outcome_.limit = options_.floorFactor * fewRoundings();
    double most = 0;
    for (const Trial& trial : trials_) {
      for (size_t i = 0; i < trial.outputs.size(); ++i) {
        const Judged& output = trial.outputs[i];
        const double typical = typicalError(i);
        outcome_.passes = outcome_.passes && passes(output, typical, output.noise);
        for (const RowErrors& row : output.rows) {
          const RowJudgment judgment = judgmentOf(output, row, typical, output.noise);
          const double above = judgment.error / judgment.floor;
          if (!(above <= most)) report(output, row, judgment);
          most = std::max(most, above);
        }
      }
    }
  }

  void report(const Judged& output, const RowErrors& row, const RowJudgment& judgment) {
    const double scale = row.scale > 0 ? row.scale : 1;
    outcome_.worst = {output.diff.maxAbs, output.diff.maxRel};
    outcome_.noiseFloor = judgment.floor / scale;
    outcome_.limit = options_.floorFactor * judgment.floor / scale;
    outcome_.errors.reset();
    if (output.byExact) outcome_.errors = {row.a / scale, row.b / scale};
  }

  const ChangeUnderTest& change_;
  const VerifyOptions& options_;
  const Task& task_;
  graph::DType type_;
  InnerSites inner_;
  std::vector<Trial> trials_;
  FileOutcome outcome_;
};

}  // namespace

Result<FileOutcome> compareFiles(const ChangeUnderTest& change, const InnerSites& inner, const Tensors& sample,
                                 const VerifyOptions& options, const AlgebraOutcome& algebra, const Task& task) {
  return FileProof(change, inner, options, task).compare(sample, algebra);
}

}  // namespace normlens::run
