// A model taken through every stage, each timed: what a bug report shows. Thread: that of the service.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/service/service.h"

namespace normlens::service {

struct CheckStep {
  std::string name;
  double ms = 0;
};

struct CheckStage {
  std::string name, says;
  std::optional<Error> error;  // where it failed; no stage comes after it
  double ms = 0;
  std::vector<CheckStep> steps;  // as the engine reports them; one that comes again goes on
};

struct ModelCheck {
  std::vector<CheckStage> stages;
  std::string graph;  // as it was understood (core/graph/text.h); empty: it was not
};

// Opens, checks, analyses, plans, folds and proves; writes nothing.
[[nodiscard]] ModelCheck checkModel(Service& service, const std::filesystem::path& path, const InputChoice& inputs,
                                    const Task& task);

}  // namespace normlens::service
