// Gathers the facts of a report: folds in memory or opens the fold that was given, compares, measures.
#pragma once

#include <string>

#include "app/engine/verbs.h"
#include "app/engine/verbs/model_options.h"
#include "app/engine/verbs/report/facts.h"

namespace normlens::engine::report {

struct ReportOptions {
  std::string model, folded, output, planFile, device = "cpu";
  NormChoice norm;
  Policy policy = Policy::Balanced;
  double maxGrowth = 10;
  bool bench = false;
  int rounds = protocol::BenchParams().rounds;
  InputOptions inputs;
};

// Returns the facts with that model, today's date and this program named.
[[nodiscard]] Facts named(const std::string& model);

// The original against the fold, in the file's own type and in float64. Errors: Cancelled.
[[nodiscard]] Status compare(service::Service& service, Facts& facts, const Task& task);

// `service` has the model open and analyzed. The facts record what cannot be compared or measured. Errors: FOLDED
// cannot be opened, the plan is of another file, Cancelled. Thread: one.
[[nodiscard]] Result<Facts> gather(service::Service& service, const OpenedModel& opened, const ReportOptions& options,
                                   const service::RunRules& rules, const Task& task);

}  // namespace normlens::engine::report
