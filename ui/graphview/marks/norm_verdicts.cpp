#include "ui/graphview/marks/norm_verdicts.h"

namespace normlens::graphview {

Verdict verdictOf(const std::string& word) {
  if (word == "free") return Verdict::Free;
  if (word == "with_centering") return Verdict::Centering;
  if (word == "unknown") return Verdict::Unknown;
  return word == "blocked" ? Verdict::Blocked : Verdict::None;
}

NormVerdicts::NormVerdicts(const layout::Hierarchy& hierarchy, const std::vector<protocol::NormInfo>& norms) {
  for (const protocol::NormInfo& norm : norms) {
    const int item = hierarchy.itemOfId(norm.node);
    if (item < 0) continue;
    const Verdict verdict = verdictOf(norm.verdict);
    ofItem[item] = verdict;
    for (int group = hierarchy.item(item).parent; group >= 0; group = hierarchy.item(group).parent)
      ++inGroup[group][static_cast<size_t>(verdict)];
  }
}

}  // namespace normlens::graphview
