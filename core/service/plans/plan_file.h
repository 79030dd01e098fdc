// A FoldPlan as a JSON file (--save-plan, --plan). Tensors and nodes are named by what the file names them, with their
// ids beside them, so that a person can read it; it fits one model file only, known by its SHA-256 (`sha256` below).
#pragma once

#include <filesystem>
#include <string>

#include "core/analysis/norms/norms.h"
#include "core/base/result.h"
#include "core/fold/plan.h"
#include "core/graph/graph.h"

namespace normlens::service {

[[nodiscard]] std::string planToJson(const fold::FoldPlan& plan, const graph::Graph& graph,
                                     const std::vector<analysis::LayerNorm>& norms, const std::string& sha256);
// A centering at run time is fitted to the sizes of this probe run. Errors: Unreadable for anything that is not a plan;
// BadInput for one that was made for another file, or at input sizes that do not determine these.
[[nodiscard]] Result<fold::FoldPlan> planFromJson(const std::string& text, const graph::Graph& graph,
                                                  const std::vector<analysis::LayerNorm>& norms,
                                                  const std::string& sha256);

}  // namespace normlens::service
