// Holds the marks of a graph: as wanted, by the document's ids, and as placed in one scene.
#pragma once

#include <array>
#include <optional>
#include <unordered_map>
#include <vector>

#include "core/protocol/messages.h"
#include "ui/graphview/marks/diff_marks.h"
#include "ui/graphview/marks/heat.h"
#include "ui/graphview/marks/lighting.h"
#include "ui/graphview/marks/mean_states.h"
#include "ui/graphview/marks/plan_marks.h"
#include "ui/graphview/scene.h"
#include "ui/graphview/shown.h"

namespace normlens::graphview {

using VerdictCounts = std::array<int, namesOf(Verdict{}).size()>;  // Counts the norms in a group, by verdict.

// Holds the verdicts of LayerNorms by the items of a hierarchy.
struct NormVerdicts {
  std::unordered_map<int, Verdict> ofItem;         // a small closed group has its one norm's
  std::unordered_map<int, VerdictCounts> inGroup;  // every group around a norm

  NormVerdicts() = default;
  NormVerdicts(const layout::Hierarchy& hierarchy, const std::vector<protocol::NormInfo>& norms) {
    for (const protocol::NormInfo& norm : norms) {
      const int item = hierarchy.itemOfId(norm.node);
      if (item < 0) continue;
      ofItem[item] = norm.verdict;
      for (int group = hierarchy.item(item).parent; group >= 0; group = hierarchy.item(group).parent) {
        ++inGroup[group][static_cast<size_t>(norm.verdict)];
        if (hierarchy.item(group).isOneNorm()) ofItem[group] = norm.verdict;
      }
    }
  }
};

struct WantedMarks {
  std::vector<protocol::NormInfo> norms;
  std::vector<NodeMark> nodes;      // A comparison with another graph, by place in the document's nodes.
  std::optional<PlanPicture> plan;  // the picture 'After'
  std::optional<protocol::ZeroMeanMap> means;
  std::optional<Highlight> highlight;
  std::optional<NodeTimes> times;
  bool letters = false;  // every node shows the letter of its class
};

struct Marks {
  NormVerdicts verdicts;
  PlanMarks plan;
  DiffMarks diff;
  MeanStates means;
  Lighting lighting;
  Heat heat;
  bool letters = false;

  Marks() = default;
  // All of them; none in an empty scene.
  Marks(const Scene& scene, const WantedMarks& wanted) {
    letters = wanted.letters;
    if (scene.empty()) return;
    verdicts = NormVerdicts(*scene.hierarchy, wanted.norms);
    diff = DiffMarks(*scene.hierarchy, wanted.nodes);
    if (wanted.plan) plan = PlanMarks(scene, *wanted.plan);
    if (wanted.means) means = MeanStates(scene, *wanted.means);
    if (wanted.times) heat = Heat(*scene.hierarchy, *wanted.times);
    if (wanted.highlight) lighting = Lighting(scene, wanted.highlight->graph, wanted.highlight->blockerPath);
  }
};

}  // namespace normlens::graphview
