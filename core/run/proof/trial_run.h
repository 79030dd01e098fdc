// One run of a model in a proof, which must not end with what a model makes of its inputs. Thread: one thread per
// model.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/formats/model.h"

namespace normlens::run {

struct TrialRun {
  std::optional<formats::Model::SeenRun> seen;  // nullopt: it failed
  std::string error;                            // a plain sentence
};
// Runs in the model's own runtime if there are no `values`. Only a cancelled task is an error.
[[nodiscard]] Result<TrialRun> runOn(const formats::Model& model, const formats::Tensors& inputs, const Task& task,
                                     const std::vector<graph::ValueId>& values = {});

// Memory that was wanting decides nothing: the proof ends with it.
[[nodiscard]] Status unlessMemoryWanted(std::string_view message);

// Returns the sentence about a changed model that fails where the original runs.
[[nodiscard]] std::string failsWhereOriginalRuns(const TrialRun& changed);

}  // namespace normlens::run
