#include "core/run/compare_models.h"

#include <algorithm>

#include "core/run/norm_diff.h"
#include "core/run/tensors.h"

namespace normlens::run {
namespace {

// Which of the two models an error is about.
tl::unexpected<Error> errorOf(const formats::Model& model, Error error) {
  if (error.code != ErrorCode::Cancelled) error.message = model.facts().path.string() + ": " + error.message;
  return tl::unexpected(std::move(error));
}

}  // namespace

Result<ModelDiff> diffModels(const formats::Model& a, const std::vector<analysis::LayerNorm>& normsOfA,
                             const formats::Model& b, const formats::Tensors& inputs, std::optional<double> limit,
                             const Task& task) {
  task.report("running the first model", 0);
  const auto outputsOfA = a.run(inputs, task);
  if (!outputsOfA) return errorOf(a, outputsOfA.error());
  task.report("running the second model", 0.3);
  const auto outputsOfB = b.run(inputs, task);
  if (!outputsOfB) return errorOf(b, outputsOfB.error());
  auto outputs = compareOutputs(*outputsOfA, *outputsOfB);
  if (!outputs) return tl::unexpected(outputs.error());

  ModelDiff diff{.outputs = std::move(*outputs), .norms = {}, .firstDiverging = {}, .normsReason = {}};
  task.report("comparing the norms", 0.6);
  auto norms = compareNorms(a, normsOfA, b, inputs, task);
  if (const Status running = task.check(); !running) return tl::unexpected(running.error());
  if (norms) {
    diff.norms = std::move(*norms);
  } else {
    diff.normsReason = norms.error().message;
  }
  constexpr double kEpsilons = 256, kMost = 0.05;
  const double above = limit.value_or(std::min(kMost, kEpsilons * machineEpsilon(a.facts().dtype)));
  diff.firstDiverging = firstDiverging(diff.norms, above);
  return diff;
}

}  // namespace normlens::run
