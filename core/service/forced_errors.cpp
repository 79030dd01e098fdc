#include "core/service/forced_errors.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>
#include <vector>

#include "core/run/compare/diff.h"
#include "core/run/proof/verify.h"
#include "core/run/tensors.h"
#include "core/service/plans/plan_maker.h"

namespace normlens::service {

// One floating type.
struct ForcedErrors::Kept {
  std::string dtype;                      // empty: none
  std::unique_ptr<formats::Model> model;  // nullptr: the original is of that type
  formats::Tensors outputs;
  std::vector<double> noise;  // of each output, relative
};

namespace {

// Empty where not even so anything folds it.
analysis::Plan alone(const analysis::Analysis& analysis, int norm) {
  analysis::PlanOptions options;
  options.policy = analysis::Policy::Free;
  options.moveShifts = false;
  options.trusting = true;
  options.keepNorms.resize(analysis.norms.layerNorms.size());
  std::iota(options.keepNorms.begin(), options.keepNorms.end(), 0);
  options.keepNorms.erase(options.keepNorms.begin() + norm);
  return makePlan(analysis, options);
}

// An RMSNorm where a LayerNorm is, and nothing else; of all that may be replaced, or of one.
fold::FoldPlan replacedOnly(const analysis::Analysis& analysis, int norm) {
  fold::FoldPlan plan{"all", {}};
  for (const analysis::LayerNorm& each : analysis.norms.layerNorms) {
    const bool all = norm == protocol::kAllNorms && each.blockedReason.empty();
    if (all || each.index == norm) plan.edits.emplace_back(fold::ReplaceNorm{each.index});
  }
  return plan;
}

fold::FoldPlan planFor(const analysis::Analysis& analysis, const protocol::ForcedErrorParams& params) {
  if (params.as_it_is) return replacedOnly(analysis, params.norm);
  const analysis::Plan plan = alone(analysis, params.norm);
  return plan.folded.empty() ? fold::FoldPlan{} : toFoldPlan(plan);
}

}  // namespace

ForcedErrors::ForcedErrors() : kept_(std::make_unique<Kept>()) {}
ForcedErrors::~ForcedErrors() = default;
void ForcedErrors::forget() { *kept_ = {}; }

Status ForcedErrors::keepType(const ForcedSubject& subject, const std::string& dtype, const Task& task) {
  const graph::DType type = graph::dtypeFromName(dtype);
  if (!graph::isFloat(type)) {
    return fail(ErrorCode::Usage, "'" + dtype + "' is no floating type", "float64, float32, float16 or bfloat16");
  }
  if (kept_->dtype == dtype) return {};
  forget();
  std::unique_ptr<formats::Model> copy;
  if (type != subject.original.facts().dtype) {
    task.report("copying the model to " + dtype);
    auto made = subject.original.converted(type);
    if (!made) return tl::unexpected(made.error());
    copy = std::move(*made);
  }
  const formats::Model& model = copy ? *copy : subject.original;
  auto outputs = model.run(subject.inputs, task);
  if (!outputs) return tl::unexpected(outputs.error());
  kept_->outputs = std::move(*outputs);
  if (const Status done = measureNoise(model, subject, task); !done) return done;
  kept_->model = std::move(copy);
  kept_->dtype = dtype;
  return {};
}

// As the proof of a fold measures it.
Status ForcedErrors::measureNoise(const formats::Model& model, const ForcedSubject& subject, const Task& task) {
  const run::VerifyOptions usual;
  kept_->noise.assign(kept_->outputs.size(), usual.floorEpsilons * run::machineEpsilon(model.facts().dtype));
  for (int copy = 0; copy < usual.perturbedCopies; ++copy) {
    task.report("measuring the noise of rounding", static_cast<double>(copy) / usual.perturbedCopies);
    if (const Status running = task.check(); !running) return running;
    const auto perturbed = model.perturbed(usual.seed + static_cast<uint64_t>(copy));
    if (!perturbed) return {};  // nothing to perturb
    const auto outputs = (*perturbed)->run(subject.inputs, task);
    if (!outputs && outputs.error().code == ErrorCode::Cancelled) return tl::unexpected(outputs.error());
    const auto diffs = outputs ? run::compareOutputs(kept_->outputs, *outputs) : tl::unexpected(outputs.error());
    if (!diffs) continue;
    for (size_t i = 0; i < diffs->size(); ++i) {
      // A copy that overflows says nothing about rounding.
      if (std::isfinite((*diffs)[i].maxRel)) kept_->noise[i] = std::max(kept_->noise[i], (*diffs)[i].maxRel);
    }
  }
  return {};
}

Result<protocol::ForcedError> ForcedErrors::measure(const ForcedSubject& subject,
                                                    const protocol::ForcedErrorParams& params, const Task& task) {
  protocol::ForcedError result;
  result.norm = params.norm;
  result.dtype = params.dtype;
  const auto told = [&](const Error& error) -> Result<protocol::ForcedError> {
    if (error.code == ErrorCode::Cancelled || error.code == ErrorCode::Usage) return tl::unexpected(error);
    result.error = error.message;
    return result;
  };
  if (const Status kept = keepType(subject, params.dtype, task); !kept) return told(kept.error());
  const fold::FoldPlan plan = planFor(subject.analysis, params);
  if (plan.edits.empty()) {
    result.error = "nothing would make an RMSNorm of it";
    return result;
  }
  task.report("folding it alone");
  const formats::Model& model = kept_->model ? *kept_->model : subject.original;
  const auto folded = model.apply(plan, subject.analysis.norms.layerNorms, formats::NormFlavour::Portable, task);
  if (!folded) return told(folded.error());
  const auto outputs = (*folded)->run(subject.inputs, task);
  if (!outputs) return told(outputs.error());
  const auto diffs = run::compareOutputs(kept_->outputs, *outputs);
  if (!diffs) return told(diffs.error());
  if (std::ranges::none_of(*diffs, &run::TensorDiff::telling)) {
    result.error = "no output has a finite number in this type";
    return result;
  }
  // The largest difference that rounding does not explain, else the largest: the same output in every type.
  const double factor = run::VerifyOptions().floorFactor;
  const auto key = [](double error, double limit) { return std::pair(error > limit, error); };
  for (size_t i = 0; i < diffs->size(); ++i) {
    const double limit = factor * kept_->noise[i], error = (*diffs)[i].maxRel;
    if (i > 0 && key(error, limit) <= key(result.max_rel, result.limit)) continue;
    result.max_rel = error;
    result.limit = limit;
  }
  return result;
}

}  // namespace normlens::service
