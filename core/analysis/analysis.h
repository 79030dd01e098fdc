// The whole analysis of one graph: its norms, a verdict with a reason for each, and everything the planner needs.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/analysis/claims/claims.h"
#include "core/analysis/claims/paper_criteria.h"
#include "core/analysis/claims/scales.h"
#include "core/analysis/norms/norms.h"
#include "core/analysis/plan/planner.h"
#include "core/base/index_ranges.h"
#include "core/base/task.h"
#include "core/graph/graph.h"

namespace normlens::analysis {

using normlens::Verdict;

// The nearest thing on the way to a blocked norm that is not zero-mean and cannot be made so.
struct Blocker {
  graph::NodeId node = graph::kNone;       // that makes it, or that reads the tensor which cannot be centered
  graph::ValueId gamma = graph::kNoValue;  // the constant whose numbers would have to be equal, where that is why
  std::string reason;                      // a few words
};

struct NormVerdict {
  Verdict verdict = Verdict::Blocked;
  std::string reason;                      // one plain sentence
  bool needsEdits = false;                 // besides the replacement of the norm itself
  bool dropsAddends = false;               // some of these edits are fold::DropAddend
  std::vector<size_t> centerings;          // Index Analysis::best.edits: those at run time that it needs.
  std::vector<size_t> copies;              // Index Analysis::best.edits: constants of which it needs a centered copy.
  IndexRanges sharedWith;                  // norms that the same centerings free
  std::vector<graph::NodeId> blockerPath;  // from the norm up to the blocker
  std::optional<Blocker> blocker;          // nullopt: it folds, or nothing but the norm itself is in the way
};

struct Analysis {
  AbsorbedScales scales;  // its graph is the one that was analyzed
  Norms norms;
  Claims claims;
  std::vector<NormVerdict> verdicts;  // by norm
  PaperCriteria paper;
  Plan best;  // the fixed cut that the verdicts come from
  int64_t bytesOfConstants = 0;
};

// `graph` outlives the analysis. It has shapes from a probe run; where these are missing a norm is unknown and says so.
// Errors: Cancelled, Unsupported.
[[nodiscard]] Result<std::unique_ptr<Analysis>> analyze(const graph::Graph& graph, const Task& task);
// One of several analyses of a model.
[[nodiscard]] Result<std::unique_ptr<Analysis>> analyze(const graph::Graph& graph, FiniteWeights& weights,
                                                        const Task& task);
Result<std::unique_ptr<Analysis>> analyze(graph::Graph&& graph, const Task& task) = delete;

// A plan under a policy, with the beta of each folded norm in the linears behind it where all that read it are such
// (the papers' policy leaves it), and the gamma of each RMSNorm where the options ask for it. `analysis` may be used by
// several threads at once.
[[nodiscard]] Plan makePlan(const Analysis& analysis, const PlanOptions& options);

// The folded norms that each centering at run time reaches become its `frees`, where no planner has recorded them.
void findServedNorms(const Analysis& analysis, Plan& plan);

// Previews a run-time centering of one value before it is done.
struct CenteringPreview {
  bool allowed = false;
  std::string reason;      // one plain sentence: why not, or what it does
  std::vector<int> frees;  // norms that fold with it and not without
};
[[nodiscard]] CenteringPreview previewCentering(const Analysis& analysis, graph::ValueId value);

// Shows why makePlan centers where it does. For policies other than the papers'.
[[nodiscard]] CutPicture cutPicture(const Analysis& analysis, const PlanOptions& options, size_t described);

}  // namespace normlens::analysis
