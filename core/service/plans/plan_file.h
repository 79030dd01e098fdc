// A FoldPlan as a JSON file (--save-plan, --plan). Tensors and nodes are named by what the file names them, with their
// ids beside them, so that a person can read it; it fits one model file only, known by its hash.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "core/analysis/norms/norms.h"
#include "core/base/result.h"
#include "core/fold/plan.h"
#include "core/formats/file/file_hash.h"
#include "core/graph/graph.h"
#include "core/graph/types.h"
#include "core/ops/pattern.h"

namespace normlens::service {

// A pattern that was made for a value at one input size, for the same value at another.

// -1: more than can be counted.
[[nodiscard]] int64_t elementsOf(const ops::Pattern& pattern);

// A dimension that is kept whole takes the size that it has in this shape. nullopt: the pattern does not fit, or it is
// ambiguous which size belongs to which dimension.
[[nodiscard]] std::optional<ops::Pattern> refitted(const ops::Pattern& pattern, const graph::Shape& shape);

[[nodiscard]] std::string planToJson(const fold::FoldPlan& plan, const graph::Graph& graph,
                                     const std::vector<analysis::LayerNorm>& norms, const std::string& xxh3);
// Returns what the model's file is known by; plans of earlier versions have its SHA-256. Its errors are passed on.
using SourceBy = std::function<Result<std::string>(formats::HashKind)>;
// A centering at run time is fitted to the sizes of this probe run. Errors: Unreadable for anything that is not a plan;
// BadInput for one that was made for another file, or at input sizes that do not determine these.
[[nodiscard]] Result<fold::FoldPlan> planFromJson(const std::string& text, const graph::Graph& graph,
                                                  const std::vector<analysis::LayerNorm>& norms,
                                                  const SourceBy& sourceBy);

}  // namespace normlens::service
