// One model folded into a file: what `fold` does, and `sweep` with each of its models.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>

#include "app/engine/verbs.h"
#include "app/engine/verbs/model_options.h"
#include "app/engine/verbs/reports.h"

namespace normlens::engine {

struct FoldOptions {
  std::string model, output, policy = "balanced", prices = "fixed", norm = "portable", planFile, savePlan;
  double maxGrowth = 10;
  std::string proof = "auto";
  bool noVerify = false, force = false, resume = false;
  InputOptions inputs;

  // All that do not name a file of one model: INPUTS, and how to fold.
  void addTo(CLI::App& app);
  [[nodiscard]] NamedFiles files() const;
};

// The object that a fold ends with.
using FoldReport = std::function<nlohmann::json(const protocol::Analysis& analysis, const FoldOutcome& outcome)>;

// In a worker that may be handed options.files(). Exit::NotDone: refused or not proved, nothing was written.
[[nodiscard]] Exit foldToFile(const FoldOptions& options, const Call& call, const FoldReport& report);

// "25 of 25 LayerNorms folded, 4 tensors centered (1.2 MB), ..."
[[nodiscard]] std::string foldSummary(const protocol::PlanInfo& plan);

}  // namespace normlens::engine
