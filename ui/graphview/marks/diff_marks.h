// The marks on a graph that is compared with another: what was changed, and what the other one has not.
#pragma once

#include <vector>

#include "ui/graphview/camera.h"
#include "ui/graphview/compare/graph_diff.h"
#include "ui/graphview/scene.h"
#include "ui/theme/theme.h"

class QPainter;

namespace normlens::graphview {

class DiffMarks {
 public:
  DiffMarks() = default;
  DiffMarks(const layout::Hierarchy& hierarchy, const std::vector<NodeMark>& marks);

  // An outline around each marked box in sight, and a sign: an op's own mark, a closed group's number of marks.
  void paint(QPainter& painter, const Scene& scene, const Camera& camera, const QRectF& area,
             const ui::Theme& theme) const;

 private:
  struct Counts {
    int changed = 0, only = 0;
  };
  static QString signOf(const Counts& counts, bool group);

  // By item: of an op, or of all that is in a group. Nodes that are not drawn count where the things around them are.
  std::vector<Counts> counts_;
};

}  // namespace normlens::graphview
