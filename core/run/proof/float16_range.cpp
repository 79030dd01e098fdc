#include "core/run/proof/float16_range.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "core/base/formatted.h"
#include "core/run/compare/compare_models.h"
#include "core/run/inputs/draw.h"
#include "core/run/proof/trial_run.h"

namespace normlens::run {
namespace {

using formats::Tensors;

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

}  // namespace

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

}  // namespace normlens::run
