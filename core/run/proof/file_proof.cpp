#include "core/run/proof/file_proof.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <memory>
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
constexpr double kRight = 0.1;   // Bounds the original's own error: with more, it is not rounding alone.
constexpr double kMargin = 1.6;  // Splits the two that centering may take: what rounding and random weights may.
constexpr double kNearby = 4;    // other inputs may be so many times as large as the sample: there is no margin

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

class Range {
 public:
  Range(const ChangeUnderTest& change, const formats::Model& wide, const Task& task)
      : change_(change), wide_(wide), task_(task) {}

  // Returns by how much inputs like these can be multiplied: the largest factor, to a tenth, at which those of the
  // norms stay in float16's range, less a margin. Some runtimes compute in float32 between two ops.
  Result<double> factorFor(const Tensors& sample, Sign sign) const {
    double low = 0, high = std::log2(std::max(1.0, graph::kLargestFloat16 / largestOf(sample)));  // Bound the factor.
    constexpr double kNear = 0.14;                                                                // 2^0.14 = 1.1
    for (double exponent = high; high - low > kNear; exponent = (low + high) / 2) {
      ASSIGN_OR_RETURN(const auto inputs, scaledLike(sample, std::exp2(exponent), sign));
      ASSIGN_OR_RETURN(const auto inRange, staysInRange(inputs));
      (inRange ? low : high) = exponent;
    }
    const double most = std::exp2(low);
    return std::max(most / kMargin, std::min(most, kNearby));
  }

  // Returns whether the changed model overflows at these inputs, where the original is as right as at the usual ones.
  Result<bool> overflows(const Tensors& usual, const Tensors& inputs) const {
    const auto changed = errorOf(change_.changed, inputs);
    if (!changed || std::isfinite(*changed)) return changed.map([](double) { return false; });
    const auto before = errorOf(change_.original, usual), there = errorOf(change_.original, inputs);
    if (!before || !there) return tl::unexpected((before ? there : before).error());
    return *there <= std::max(kRight, std::isfinite(*before) ? *before : 0);
  }

 private:
  Result<bool> staysInRange(const Tensors& inputs) const {
    std::vector<graph::ValueId> values;
    for (const auto& norm : change_.norms) values.push_back(norm.input);
    ASSIGN_OR_RETURN(const auto ran, runOn(wide_, inputs, task_, values));
    return ran.seen && largestOf(ran.seen->values) < graph::kLargestFloat16;
  }

  // Returns the error of a model against the original's copy in a wider type, relative, the worst of the outputs:
  // infinite where it is not finite, or does not run. An overflow inside can still give finite numbers.
  Result<double> errorOf(const formats::Model& model, const Tensors& inputs) const {
    ASSIGN_OR_RETURN(const auto right, outputsOf(wide_, inputs));
    ASSIGN_OR_RETURN(const auto outputs, outputsOf(model, inputs));
    double worst = right.empty() || outputs.empty() ? std::numeric_limits<double>::infinity() : 0;
    for (const TensorDiff& diff : compareOutputs(right, outputs).value_or(std::vector<TensorDiff>{})) {
      worst = std::max(worst, diff.maxRel);
    }
    return worst;
  }

  Result<Tensors> outputsOf(const formats::Model& model, const Tensors& inputs) const {
    ASSIGN_OR_RETURN(auto ran, runOn(model, inputs, task_));
    RETURN_IF_ERROR(unlessMemoryWanted(ran.error));
    return ran.seen ? std::move(ran.seen->outputs) : Tensors();
  }

  const ChangeUnderTest& change_;
  const formats::Model& wide_;
  const Task& task_;
};

// wide: the original in a wider type. Inputs like the sample are multiplied by as much as its norms' inputs take.
// Returns a sentence where the changed model overflows there and the original does not; empty: it does not, or the
// sample has no floats. Errors: as runOn().
Result<std::string> overflowsEarlier(const ChangeUnderTest& change, const formats::Model& wide, const Tensors& sample,
                                     const Task& task) {
  if (largestOf(sample) == 0) return {};
  task.report("comparing the ranges of float16");
  constexpr int kSets = 3;  // centering may shrink what is largest in one of them
  ASSIGN_OR_RETURN(const auto sets, batchesLike(sample, kSets, 1));
  const Range range(change, wide, task);
  // Numbers of one sign add up in sums where those of a sample may cancel.
  for (const Sign sign : {Sign::Own, Sign::Positive}) {
    ASSIGN_OR_RETURN(const auto factor, range.factorFor(sample, sign));
    if (factor <= 1) continue;  // the sample itself shows what there is to see
    for (const Tensors& set : sets) {
      const auto usual = scaledLike(set, 1, sign), inputs = scaledLike(set, factor, sign);
      if (!usual || !inputs) return tl::unexpected((usual ? inputs : usual).error());
      ASSIGN_OR_RETURN(const auto overflows, range.overflows(*usual, *inputs));
      if (!overflows) continue;
      return formatted(
          "float16 ends at 65504: with inputs %.3g times as large the original is right and the folded model "
          "gives numbers that are not finite",
          factor);
    }
  }
  return {};
}

// Bounds an original's own relative error: with more, it draws random numbers, unless it moves so far with its weights
// or only a half type is off.
constexpr double kMostRounding = 0.1;
constexpr double kUnbounded = std::numeric_limits<double>::infinity();

// The same tensors, not only equal ones.
bool shareMemory(const Tensors& a, const Tensors& b) {
  return std::ranges::equal(a, b, [](const auto& x, const auto& y) { return x.view.data == y.view.data; });
}

// One output on one set of inputs.
struct Judged {
  TensorDiff diff;
  std::vector<RowErrors> rows;  // those that differ
  double epsilon = 0;           // the type's that the output is computed in
  bool byExact = false;         // rows hold how far the two are from exact numbers
  double noise = 0;             // how far the original moves with its weights, absolute
};

struct Trial {
  Tensors inputs, original, changed;
  std::vector<ComparedPair> inner{};  // their values come after the outputs
  std::vector<Judged> outputs{};
};

// The errors of all rows of one output, on all sets of inputs: relative, the largest first.
struct Errors {
  std::vector<double> original, folded;
};

struct Floor {
  double size = 0;
  ErrorFloor of = ErrorFloor::Roundings;
  bool operator<(const Floor& other) const { return size < other.size; }
};

// RowJudgment decides on a row, in absolute numbers: it passes where error <= factor * floor.
struct RowJudgment {
  double error = 0;
  Floor floor;
  bool byExact = false;  // error is the distance from exact numbers
};

class FileProof {
 public:
  FileProof(const ChangeUnderTest& change, const InnerSites& inner, const VerifyOptions& options, const Task& task)
      : change_(change), options_(options), task_(task), type_(change.original.facts().dtype), inner_(inner) {}

  Result<FileOutcome> compare(const Tensors& sample, const AlgebraOutcome& algebra) {
    const bool blind = algebra.worst && algebra.blind;
    inner_ = inner_.between(change_, change_.original.graph(), change_.changed.graph(),
                            blind ? InnerSites::Which::All : InnerSites::Which::OfHidden);
    chooseWiderType(algebra);
    constexpr int kSets = 2, kMostSets = 48;
    constexpr size_t kEnoughRows = 600;
    std::vector<Tensors> sets = algebra.inputs;
    if (wideType_ == graph::DType::Float64) known_ = &algebra;
    ASSIGN_OR_RETURN(const auto first, batchesLike(sample, kSets, options_.seed));
    for (size_t i = sets.size(); i < kSets; ++i) sets.push_back(first[i]);
    RETURN_IF_ERROR(compareOnAll(sets));
    if (wideType_ == graph::DType::Float64 && isHalf() && outcome_.reason.empty() && !passes()) {
      ASSIGN_OR_RETURN(const bool draws, drawsOtherNumbers(sample));
      most_ = draws ? kMostRounding : kUnbounded;
    }
    // Few rows show little of what the original is off by.
    for (int some = 3, at = kSets;
         at < kMostSets && wideType_ && outcome_.reason.empty() && !passes() && rows() < kEnoughRows;
         at += 2 * some, some *= 2) {
      std::vector<Tensors> more;
      for (size_t i = 0; i < kSets; ++i) {
        ASSIGN_OR_RETURN(const auto drawn,
                         batchesLike(sets[i], 1 + some, options_.seed + static_cast<uint64_t>(at) + i));
        more.insert(more.end(), drawn.begin() + 1, drawn.end());
      }
      RETURN_IF_ERROR(compareOnAll(more));
    }
    if (!outcome_.reason.empty()) return std::move(outcome_);
    decide();
    if (outcome_.passes && unknown_) {
      outcome_.reason = "the model runs in no type wider than " + std::string(graph::dtypeName(type_)) +
                        ", so that its own error is not known: nothing is proved";
    } else if (outcome_.passes && wideType_ && type_ == graph::DType::Float16) {
      ASSIGN_OR_RETURN(const auto* const wide, widerCopy());
      ASSIGN_OR_RETURN(const auto overflow, overflowsEarlier(change_, *wide, sample, task_));
      if (!overflow.empty()) refute(overflow);
    }
    return std::move(outcome_);
  }

 private:
  // Chooses the type of the original's wider copy, on whose runs its own error is measured; nullopt: there is none.
  void chooseWiderType(const AlgebraOutcome& algebra) {
    // The float64 run of a float64 file is the original itself: it does not show the original's own error.
    if (type_ == graph::DType::Float64) return;
    if (algebra.hasExact) wideType_ = graph::DType::Float64;
    if (wideType_ || !isHalf()) return;
    wide_ = change_.original.converted(graph::DType::Float32).value_or(nullptr);
    if (wide_) wideType_ = graph::DType::Float32;
  }

  // Mostly all of its numbers that are wanted are known from the algebra: the copy is made for others alone, as it
  // takes twice the memory of the weights.
  Result<const formats::Model*> widerCopy() {
    if (!wide_) {
      ASSIGN_OR_RETURN(wide_, change_.original.converted(*wideType_));
    }
    return wide_.get();
  }
  [[nodiscard]] bool isHalf() const { return type_ == graph::DType::Float16 || type_ == graph::DType::BFloat16; }

  // Returns whether the original gives other outputs in float32 than in float64: one of a half type that draws random
  // numbers does, as they depend on the type, and one that only rounds does not.
  Result<bool> drawsOtherNumbers(const Tensors& sample) {
    const auto copy = change_.original.converted(graph::DType::Float32);
    if (!copy) return true;
    ASSIGN_OR_RETURN(const auto narrow, runOn(**copy, sample, task_));
    ASSIGN_OR_RETURN(const auto* const exact, widerCopy());
    ASSIGN_OR_RETURN(const auto wide, runOn(*exact, sample, task_));
    if (!narrow.seen || !wide.seen) return true;
    const auto diffs = compareOutputs(wide.seen->outputs, narrow.seen->outputs);
    return !diffs || std::ranges::any_of(*diffs, [](const auto& diff) { return !(diff.maxRel <= kMostRounding); });
  }

  Status compareOnAll(const std::vector<Tensors>& sets) {
    for (const Tensors& inputs : sets) {
      task_.report("comparing in " + std::string(graph::dtypeName(type_)), 0.5);
      if (const Status done = compareOn(inputs); !done) return done;
      if (!outcome_.reason.empty()) return {};
    }
    collectErrors();
    return measureNoise();
  }

  Status compareOn(const Tensors& inputs) {
    ASSIGN_OR_RETURN(auto expected, runOn(change_.original, inputs, task_, inner_.ofA()));
    if (!expected.seen && mayDropSites()) return compareOn(inputs);
    if (!expected.seen) {
      if (!trials_.empty()) return {};
      RETURN_IF_ERROR(unlessMemoryWanted(expected.error));
      outcome_.reason = "the model does not run on these inputs: " + expected.error;
      return {};
    }
    ASSIGN_OR_RETURN(auto got, runOn(change_.changed, inputs, task_, inner_.ofB()));
    RETURN_IF_ERROR(unlessMemoryWanted(got.error));
    if (!got.seen && mayDropSites()) return compareOn(inputs);
    if (!got.seen) return refute(failsWhereOriginalRuns(got));
    auto inner = lookInside(*expected.seen, *got.seen);
    auto diffs = compareOutputs(expected.seen->outputs, got.seen->outputs);
    if (!diffs) return refute(diffs.error().message);
    ASSIGN_OR_RETURN(const auto exact, exactOutputs(inputs, inner));
    Trial trial{inputs, std::move(expected.seen->outputs), std::move(got.seen->outputs), std::move(inner)};
    for (size_t i = 0; i < diffs->size(); ++i) {
      const TensorDiff& diff = (*diffs)[i];
      outcome_.telling = outcome_.telling || diff.telling;
      ASSIGN_OR_RETURN(const auto judged, judge(trial, i, diff, exact));
      unknown_ = unknown_ || (isHalf() && diff.telling && !judged.byExact && !judged.rows.empty());
      trial.outputs.push_back(judged);
    }
    if (trials_.empty()) outcome_.outputs = std::move(*diffs);
    trials_.push_back(std::move(trial));
    return {};
  }

  // Returns the outputs of the wider copy; empty: there is none, or it does not run.
  [[nodiscard]] Result<Tensors> exactOutputs(const Tensors& inputs, const std::vector<ComparedPair>& inner) {
    if (!wideType_) return Tensors();
    for (size_t i = 0; known_ != nullptr && inner.empty() && i < known_->outputs.size(); ++i) {
      if (shareMemory(inputs, known_->inputs[i])) return known_->outputs[i];
    }
    ASSIGN_OR_RETURN(const auto* const wide, widerCopy());
    ASSIGN_OR_RETURN(auto ran, runOn(*wide, inputs, task_, inner_.ofA()));
    RETURN_IF_ERROR(unlessMemoryWanted(ran.error));
    if (!ran.seen) return Tensors();
    inner_.append(inner, *ran.seen);
    return std::move(ran.seen->outputs);
  }

  // exact: those of the wider copy; may be empty.
  [[nodiscard]] Result<Judged> judge(const Trial& trial, size_t output, const TensorDiff& diff,
                                     const Tensors& exact) const {
    const graph::TensorView &a = trial.original[output].view, &b = trial.changed[output].view;
    const size_t outputs = trial.original.size() - trial.inner.size();
    // A value on the way that was aligned is in float64 by that alone.
    const bool aligned = output >= outputs && trial.inner[output - outputs].alignment != Alignment::None;
    const double epsilon = aligned ? machineEpsilon(type_) : epsilonOf(a.dtype);
    if (diff.telling && output < exact.size()) {
      if (auto rows = rowErrors(a, b, &exact[output].view)) return Judged{diff, std::move(*rows), epsilon, true};
    }
    return rowErrors(a, b, nullptr).map([&](std::vector<RowErrors> rows) {
      return Judged{diff, std::move(rows), epsilon};
    });
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
    outcome_.errors.reset();
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
        ASSIGN_OR_RETURN(auto ran, runOn(**perturbed, trial.inputs, task_, inner_.ofA()));
        RETURN_IF_ERROR(unlessMemoryWanted(ran.error));
        if (!ran.seen) continue;
        inner_.append(trial.inner, *ran.seen);
        includeNoise(trial, ran.seen->outputs);
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
        if (row.apart > 0 && std::isfinite(row.a)) output.noise = std::max(output.noise, row.a);
      }
    }
  }

  [[nodiscard]] bool needsNoise(const Trial& trial) const { return !passes(trial, 0) && passes(trial, kUnbounded); }
  [[nodiscard]] bool needsNoise() const {
    return std::ranges::any_of(trials_, [&](const Trial& trial) { return needsNoise(trial); });
  }
  // leastNoise: in place of what was measured, where that is less.
  [[nodiscard]] bool passes(const Trial& trial, double leastNoise) const {
    for (size_t i = 0; i < trial.outputs.size(); ++i) {
      const Judged& output = trial.outputs[i];
      for (const RowErrors& row : output.rows) {
        const RowJudgment judgment = judgmentOf(output, row, errors_[i], std::max(output.noise, leastNoise));
        if (!(judgment.error <= options_.floorFactor * judgment.floor.size)) return false;
      }
    }
    return true;
  }
  [[nodiscard]] bool passes() const {
    return std::ranges::all_of(trials_, [&](const Trial& trial) { return passes(trial, 0); });
  }

  // Some parts of a file may be of another type than most of its weights; an output of a wider one shows no more
  // rounding than the original's own.
  [[nodiscard]] double epsilonOf(graph::DType output) const {
    const bool isWider = change_.original.facts().computedIn == graph::DType::Unknown &&
                         graph::mantissaBits(output) > graph::mantissaBits(type_);
    return machineEpsilon(isWider ? output : type_);
  }
  // Returns the error that is excused whatever the original's own error, relative.
  [[nodiscard]] double fewRoundings(double epsilon) const {
    const double few = options_.floorEpsilons * epsilon;
    const bool isFloat64 = epsilon == machineEpsilon(graph::DType::Float64);
    return isFloat64 ? std::max(few, options_.algebraLimit / options_.floorFactor) : few;
  }
  // The same where the original moves less than that with its weights: four epsilons of bfloat16 are 3 %.
  [[nodiscard]] double leastFloor(const Judged& output, double scale, double noise) const {
    const double few = fewRoundings(output.epsilon) * scale;
    return std::clamp(noise, few / options_.floorEpsilons, few);
  }

  // A value that cancels to nothing in exact arithmetic has no scale, and an original that is right there is so by
  // luck.
  [[nodiscard]] static bool isMeasured(const Judged& output, const RowErrors& row) {
    constexpr double kNothing = 1e-6;
    return output.byExact && row.exact > kNothing * (std::isfinite(row.apart) ? row.apart : 0);
  }

  [[nodiscard]] RowJudgment judgmentOf(const Judged& output, const RowErrors& row, const Errors& errors,
                                       double noise) const {
    if (!isMeasured(output, row)) {
      Floor own;
      if (output.byExact && std::isfinite(row.a))
        own = std::min(Floor{row.a, ErrorFloor::Original}, Floor{most_ * row.scale, ErrorFloor::Tenth});
      return {row.apart,
              std::max({Floor{fewRoundings(output.epsilon) * row.scale}, Floor{noise, ErrorFloor::Noise}, own})};
    }
    // A few roundings beside an original that is itself far off; one less than the limit, so that a fold never leaves
    // the limit by the original's own error. An original that overflows has no scale.
    const Floor few{leastFloor(output, std::isfinite(row.apart) ? row.scale : std::max(row.scale, row.exact), noise)};
    if (row.apart <= (options_.floorFactor - 1) * few.size) return {row.apart, few};
    const Floor most =
        std::max(Floor{most_ * std::max(row.scale, row.exact), ErrorFloor::Tenth}, Floor{noise, ErrorFloor::Noise});
    Floor own{usual(errors, row) * row.around, ErrorFloor::OtherRows};
    if (std::isfinite(row.a)) own = std::max(Floor{row.a, ErrorFloor::Original}, own);
    return {row.b, std::max(few, std::min(own, most)), true};
  }

  // Covers the rows of all trials; made anew whenever some were added.
  void collectErrors() {
    errors_.clear();
    for (const Trial& trial : trials_) {
      errors_.resize(std::max(errors_.size(), trial.outputs.size()));
      for (size_t i = 0; i < trial.outputs.size(); ++i) {
        if (!trial.outputs[i].byExact) continue;
        for (const RowErrors& row : trial.outputs[i].rows) {
          errors_[i].original.push_back(relative(row.a, row));
          errors_[i].folded.push_back(relative(row.apart > 0 ? row.b : row.a, row));
        }
      }
    }
    for (Errors& errors : errors_) {
      std::ranges::sort(errors.original, std::greater());
      std::ranges::sort(errors.folded, std::greater());
    }
  }

  // Returns in how many rows of an output the original's own error is known, at most.
  [[nodiscard]] size_t rows() const {
    size_t most = 0;
    for (const Errors& errors : errors_) most = std::max(most, errors.original.size());
    return most;
  }

  // An original that is infinite excuses nothing.
  [[nodiscard]] static double relative(double error, const RowErrors& row) {
    return row.around > 0 && std::isfinite(error) ? error / row.around : 0;
  }

  // Returns what the original is off by in half as many rows as the folded model is off by this row's error or more:
  // an original that is right in a row by luck is off in others.
  [[nodiscard]] double usual(const Errors& errors, const RowErrors& row) const {
    const auto less = std::ranges::upper_bound(errors.folded, relative(row.b, row), std::greater());
    return errors.original[static_cast<size_t>(less - errors.folded.begin() - 1) / 2];
  }

  // Each output has its own floor: an index that flips would excuse whatever the others are off by. Reported is the row
  // that is farthest above its limit, or nearest to it.
  void decide() {
    outcome_.passes = passes();
    outcome_.worst.emplace();
    outcome_.noiseFloor = fewRoundings(machineEpsilon(type_));
    outcome_.limit = options_.floorFactor * outcome_.noiseFloor;
    std::pair most{0.0, 0.0};
    bool reported = false;
    for (const Trial& trial : trials_) {
      for (size_t i = 0; i < trial.outputs.size(); ++i) {
        const Judged& output = trial.outputs[i];
        for (const RowErrors& row : output.rows) {
          const RowJudgment judgment = judgmentOf(output, row, errors_[i], output.noise);
          // A few roundings say least: of those, the largest difference is reported.
          const bool few = isMeasured(output, row) && !judgment.byExact;
          const std::pair above{few ? 0 : judgment.error / judgment.floor.size, few ? row.apart / row.scale : 0};
          if (above > most || !reported) report(output, row, judgment);
          reported = true;
          most = std::max(most, above);
        }
      }
    }
  }

  void report(const Judged& output, const RowErrors& row, const RowJudgment& judgment) {
    const double scale = row.scale > 0 ? row.scale : 1;
    outcome_.worst = {output.diff.maxAbs, output.diff.maxRel};
    // The output's largest difference may be another row's, which passes by a higher floor of its own.
    const double others = outcome_.passes ? output.diff.maxRel : 0;
    const Floor floor =
        std::max(Floor{judgment.floor.size / scale, judgment.floor.of},
                 Floor{std::nextafter(others / options_.floorFactor, kUnbounded), ErrorFloor::OtherRows});
    outcome_.noiseFloor = floor.size;
    outcome_.floor = floor.of;
    outcome_.limit = options_.floorFactor * outcome_.noiseFloor;
    outcome_.errors.reset();
    if (isMeasured(output, row)) outcome_.errors = {row.a / scale, row.b / scale};
  }

  const ChangeUnderTest& change_;
  const VerifyOptions& options_;
  const Task& task_;
  graph::DType type_;
  InnerSites inner_;
  std::optional<graph::DType> wideType_;        // of the original's wider copy; nullopt: there is none
  std::unique_ptr<const formats::Model> wide_;  // made when it is first run
  const AlgebraOutcome* known_ = nullptr;       // holds outputs of the wider copy; null: none
  double most_ = kMostRounding;                 // of the original's own error, relative
  bool unknown_ = false;                        // how far the original itself is off, where the two differ
  std::vector<Trial> trials_;
  std::vector<Errors> errors_;  // by output
  FileOutcome outcome_;
};

}  // namespace

Result<FileOutcome> compareFiles(const ChangeUnderTest& change, const InnerSites& inner, const Tensors& sample,
                                 const VerifyOptions& options, const AlgebraOutcome& algebra, const Task& task) {
  return FileProof(change, inner, options, task).compare(sample, algebra);
}

}  // namespace normlens::run
