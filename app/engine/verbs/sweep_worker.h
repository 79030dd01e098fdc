// One model of a sweep, in a worker of its own: what is told of it.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "app/engine/verbs.h"
#include "app/engine/verbs/fold_model.h"

namespace normlens::engine {

struct SweepEntry {
  nlohmann::json line;  // without what it was asked with
  std::string text;     // for a reader
};

// Folds options.model to options.output, or only analyses it where that is empty. nullopt: it was stopped on request
// before it was done. Precondition: as superviseVerb().
[[nodiscard]] std::optional<SweepEntry> sweepModel(const FoldOptions& options, const confine::Limits& limits);

}  // namespace normlens::engine
