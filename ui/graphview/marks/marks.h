// Holds the marks of a graph: as wanted, by the document's ids, and as placed in one scene.
#pragma once

#include <optional>
#include <vector>

#include "core/protocol/messages.h"
#include "ui/graphview/marks/diff_marks.h"
#include "ui/graphview/marks/lighting.h"
#include "ui/graphview/marks/mean_states.h"
#include "ui/graphview/marks/norm_verdicts.h"
#include "ui/graphview/marks/plan_marks.h"
#include "ui/graphview/scene.h"
#include "ui/graphview/shown.h"

namespace normlens::graphview {

struct WantedMarks {
  std::vector<protocol::NormInfo> norms;
  std::vector<NodeMark> nodes;      // of a comparison with another graph, by place in the document's nodes
  std::optional<PlanPicture> plan;  // the picture 'After'
  std::optional<protocol::ZeroMeanMap> means;
  std::optional<Highlight> highlight;
};

struct Marks {
  NormVerdicts verdicts;
  PlanMarks plan;
  DiffMarks diff;
  MeanStates means;
  Lighting lighting;

  Marks() = default;
  // All of them; none in an empty scene.
  Marks(const Scene& scene, const WantedMarks& wanted) {
    if (scene.empty()) return;
    verdicts = NormVerdicts(*scene.hierarchy, wanted.norms);
    diff = DiffMarks(*scene.hierarchy, wanted.nodes);
    if (wanted.plan) plan = PlanMarks(scene, *wanted.plan);
    if (wanted.means) means = MeanStates(scene, *wanted.means);
    if (wanted.highlight) lighting = Lighting(scene, wanted.highlight->graph, wanted.highlight->blockerPath);
  }
};

}  // namespace normlens::graphview
