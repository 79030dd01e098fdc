#include "core/service/original_in_type.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/run/compare/diff.h"
#include "core/run/proof/verify.h"
#include "core/run/tensors.h"

namespace normlens::service {

Status OriginalInType::take(const AnalysedModel& subject, const std::string& dtype, const Task& task) {
  const graph::DType type = graph::dtypeFromName(dtype);
  if (!graph::isFloat(type)) {
    return fail(ErrorCode::Usage, "'" + dtype + "' is no floating type", "float64, float32, float16 or bfloat16");
  }
  if (dtype_ == dtype) return {};
  forget();
  std::unique_ptr<formats::Model> copy;
  if (type != subject.original.facts().dtype) {
    task.report("copying the model to " + dtype);
    ASSIGN_OR_RETURN(auto made, subject.original.converted(type));
    copy = std::move(made);
  }
  const formats::Model& model = copy ? *copy : subject.original;
  ASSIGN_OR_RETURN(auto outputs, model.run(subject.inputs, task));
  outputs_ = std::move(outputs);
  RETURN_IF_ERROR(checkRepeats(model, subject, task));
  RETURN_IF_ERROR(measureNoise(model, subject, task));
  copy_ = std::move(copy);
  dtype_ = dtype;
  return {};
}

// Refuses a model that draws random numbers: a changed copy of it shows nothing.
Status OriginalInType::checkRepeats(const formats::Model& model, const AnalysedModel& subject, const Task& task) const {
  ASSIGN_OR_RETURN(const auto again, model.run(subject.inputs, task));
  ASSIGN_OR_RETURN(const auto diffs, run::compareOutputs(outputs_, again));
  const run::VerifyOptions usual;
  const double limit = usual.floorFactor * usual.floorEpsilons * run::machineEpsilon(model.facts().dtype);
  if (std::ranges::all_of(diffs, [&](const run::TensorDiff& diff) { return !(diff.maxRel > limit); })) return {};
  return fail(ErrorCode::Unsupported, "the model's outputs differ from run to run: it draws random numbers");
}

// Measures noise as the proof of a fold does.
Status OriginalInType::measureNoise(const formats::Model& model, const AnalysedModel& subject, const Task& task) {
  const run::VerifyOptions usual;
  noise_.assign(outputs_.size(), usual.floorEpsilons * run::machineEpsilon(model.facts().dtype));
  for (int copy = 0; copy < usual.perturbedCopies; ++copy) {
    task.report("measuring the noise of rounding", static_cast<double>(copy) / usual.perturbedCopies);
    RETURN_IF_ERROR(task.check());
    const auto perturbed = model.perturbed(usual.seed + static_cast<uint64_t>(copy));
    if (!perturbed) return {};  // nothing to perturb
    const auto outputs = (*perturbed)->run(subject.inputs, task);
    if (!outputs && outputs.error().code == ErrorCode::Cancelled) return tl::unexpected(outputs.error());
    const auto diffs = outputs ? run::compareOutputs(outputs_, *outputs) : tl::unexpected(outputs.error());
    if (!diffs) continue;
    for (size_t i = 0; i < diffs->size(); ++i) {
      // A copy that overflows shows nothing about rounding.
      if (std::isfinite((*diffs)[i].maxRel)) noise_[i] = std::max(noise_[i], (*diffs)[i].maxRel);
    }
  }
  return {};
}

Result<OriginalInType::OutputError> OriginalInType::errorOf(const formats::Tensors& outputs) const {
  ASSIGN_OR_RETURN(const auto diffs, run::compareOutputs(outputs_, outputs));
  if (std::ranges::none_of(diffs, &run::TensorDiff::telling)) {
    return fail(ErrorCode::RunFailed, "no output has a finite floating-point number");
  }
  const double factor = run::VerifyOptions().floorFactor;
  const auto key = [](const OutputError& of) { return std::pair(of.maxRel > of.limit, of.maxRel); };
  OutputError worst{diffs[0].maxRel, factor * noise_[0]};
  for (size_t i = 1; i < diffs.size(); ++i) {
    const OutputError next{diffs[i].maxRel, factor * noise_[i]};
    if (key(next) > key(worst)) worst = next;
  }
  return worst;
}

}  // namespace normlens::service
