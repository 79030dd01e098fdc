#include "core/analysis/preview.h"

#include <algorithm>

#include "core/analysis/explain.h"

namespace normlens::analysis {

CenteringPreview previewCentering(const Analysis& analysis, graph::ValueId value) {
  const auto& graph = analysis.scales.graph();
  CenteringPreview preview;
  const Claim* asked = nullptr;
  for (const Claim& claim : analysis.claims.all()) {
    if (claim.value != value) continue;
    if (asked == nullptr || asked->tolerantUses.size() < claim.tolerantUses.size()) asked = &claim;
  }
  if (asked == nullptr) {
    const auto unknown = std::ranges::count(analysis.verdicts, Verdict::Unknown, &NormVerdict::verdict);
    preview.reason = unknown == 0 ? "No LayerNorm depends on the mean of this value."
                                  : "No LayerNorm is known to depend on the mean of this value; of " +
                                        std::to_string(unknown) + " no run has shown what decides.";
    return preview;
  }
  if (asked->tolerantUses.empty()) {
    const std::string reader =
        asked->otherNode == graph::kNone ? "a model output" : describeNode(graph, asked->otherNode);
    preview.reason = "Centering it would change " + reader + ": " + *asked->otherReason + ".";
    return preview;
  }
  PlanOptions without;
  without.policy = Policy::Free;
  PlanOptions with = without;
  with.centerValues = {value};
  const Plan before = makePlan(analysis, without);
  const Plan after = makePlan(analysis, with);
  std::set_difference(after.folded.begin(), after.folded.end(), before.folded.begin(), before.folded.end(),
                      std::back_inserter(preview.frees));
  preview.allowed = after.centerings > 0;
  if (!preview.allowed) {
    preview.reason = "Centering it frees no LayerNorm that is not free already.";
    return preview;
  }
  const std::string count = std::to_string(preview.frees.size());
  preview.reason = "One centering at run time frees " + count +
                   (preview.frees.size() == 1 ? " LayerNorm; it costs what it saves." : " LayerNorms.");
  return preview;
}

}  // namespace normlens::analysis
