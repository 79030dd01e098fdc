#include "core/run/proof/trial_run.h"

#include "core/base/plain_error.h"

namespace normlens::run {

using formats::Model;
using formats::Tensors;

Result<TrialRun> runOn(const Model& model, const Tensors& inputs, const Task& task,
                       const std::vector<graph::ValueId>& values) {
  const auto plain = [&] {
    return model.run(inputs, task).map([](Tensors&& outputs) { return Model::SeenRun{std::move(outputs), {}}; });
  };
  auto seen = values.empty() ? plain() : model.runSeeing(inputs, values, task);
  RETURN_IF_ERROR(task.check());
  if (!seen) return TrialRun{.seen = std::nullopt, .error = seen.error().message};
  return TrialRun{.seen = std::move(*seen), .error = {}};
}

Status unlessMemoryWanted(std::string_view message) {
  if (!reportsWantOfMemory(message)) return {};
  return fail(ErrorCode::RunFailed, "it could not be decided whether anything changes: " +
                                        std::string(message.substr(message.find(kNoMemory))));
}

std::string failsWhereOriginalRuns(const TrialRun& changed) {
  return "the folded model fails where the original runs: " + changed.error;
}

}  // namespace normlens::run
