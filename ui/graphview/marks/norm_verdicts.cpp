#include "ui/graphview/marks/norm_verdicts.h"

namespace normlens::graphview {

NormVerdicts::NormVerdicts(const layout::Hierarchy& hierarchy, const std::vector<protocol::NormInfo>& norms) {
  for (const protocol::NormInfo& norm : norms) {
    const int item = hierarchy.itemOfId(norm.node);
    if (item < 0) continue;
    ofItem[item] = norm.verdict;
    for (int group = hierarchy.item(item).parent; group >= 0; group = hierarchy.item(group).parent)
      ++inGroup[group][static_cast<size_t>(norm.verdict)];
  }
}

}  // namespace normlens::graphview
