#include "ui/graphview/marks.h"

namespace normlens::graphview {

Marks::Marks(const Scene& scene, const WantedMarks& wanted) {
  if (scene.empty()) return;
  verdicts = NormVerdicts(*scene.hierarchy, wanted.norms);
  diff = DiffMarks(*scene.hierarchy, wanted.nodes);
  if (wanted.means) means = MeanStates(scene, *wanted.means);
  if (wanted.highlight) lighting = Lighting(scene, wanted.highlight->graph, wanted.highlight->blockerPath);
}

}  // namespace normlens::graphview
