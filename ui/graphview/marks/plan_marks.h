// Marks a plan's effect on the graph, for the picture 'After': norms that are RMSNorms then, weights that are
// rewritten, means that are subtracted at run time.
#pragma once

#include <array>
#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

#include "ui/graphview/scene.h"
#include "ui/words/plan_mark.h"

namespace normlens::graphview {

// Ids are those of the GraphDocument.
struct PlanPicture {
  std::vector<std::pair<int, ui::PlanState>> norms;  // by node
  std::vector<int> centered, shifted;                // nodes: a weight was centered, a norm's shift was moved in
  // Values whose mean is subtracted at run time, and a node to show that at: a weight has no edge of its own.
  std::vector<std::pair<int, int>> centerings;
  bool proved = false;  // done, and no output changed
};

// marks: by NormInfo::index.
[[nodiscard]] PlanPicture pictureOf(const protocol::PlanInfo& plan, const std::vector<protocol::NormInfo>& norms,
                                    const std::vector<ui::PlanMark>& marks);

struct PlanMarks {
  struct Pills {
    int centered = 0, shifted = 0;
  };
  std::unordered_map<int, ui::PlanState> ofItem;                      // a small closed group has its one norm's
  std::unordered_map<int, std::array<int, ui::kPlanStates>> inGroup;  // Counts the norms in a group, by state.
  std::unordered_map<int, Pills> ofBox;                               // a closed group has those of what is in it
  std::vector<QPointF> centerings;                                    // where, in the world
  bool active = false, proved = false;

  PlanMarks() = default;
  PlanMarks(const Scene& scene, const PlanPicture& picture);

  [[nodiscard]] ui::PlanState stateOf(int item) const {
    const auto found = ofItem.find(item);
    return found == ofItem.end() ? ui::PlanState::Unknown : found->second;
  }
  [[nodiscard]] bool isRmsNorm(int item) const { return ui::PlanMark{stateOf(item), {}}.folds(); }
};

}  // namespace normlens::graphview
